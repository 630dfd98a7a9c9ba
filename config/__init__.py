"""The composition root: the only package that knows all others."""

from __future__ import annotations

# Loaded here so that web processes send tasks through the same Celery app as the workers.
from workers.celery import app as celery_app

__all__ = ["celery_app"]
