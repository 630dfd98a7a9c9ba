"""Faults of vendors, as switches. `registry.py` lists the families that hold them."""

from __future__ import annotations
