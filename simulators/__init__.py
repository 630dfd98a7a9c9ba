"""Vendors with known faults, as real HTTP servers. They know the wire formats, not the probes."""

from __future__ import annotations
