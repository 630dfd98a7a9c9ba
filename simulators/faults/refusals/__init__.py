"""Requests and histories that a vendor rejects with 400."""

from __future__ import annotations
