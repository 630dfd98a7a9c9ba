"""Texts of the pages and their translation. Run `python -m catalogue` after a text has changed."""

from __future__ import annotations
