"""The texts of the pages and their translation: `python -m catalogue` after a text has changed."""

from __future__ import annotations
