"""The composition root: the only package that knows all others."""

from __future__ import annotations
