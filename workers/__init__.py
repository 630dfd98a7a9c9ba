"""Celery: when and where, never what."""

from __future__ import annotations

from workers.celery import app

__all__ = ["app"]
