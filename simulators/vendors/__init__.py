"""Vendors with a wire format, rules and texts of their own, around one small model."""

from __future__ import annotations
