"""Vendors with known faults, as real HTTP servers. They know the wire formats, but no probe."""

from __future__ import annotations
