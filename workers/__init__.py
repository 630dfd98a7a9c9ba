"""Celery app and tasks: decide when work runs, not what it does."""

from __future__ import annotations

from workers.celery import app

__all__ = ["app"]
