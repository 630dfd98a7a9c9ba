"""Faults under which a vendor rejects requests or histories with 400."""

from __future__ import annotations
