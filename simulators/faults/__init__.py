"""What can go wrong at a vendor, as switches. A new fault is an entry in `registry.py`."""

from __future__ import annotations
