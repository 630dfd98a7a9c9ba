"""Vendors with known faults, as real HTTP servers. They know nothing of the probes."""

from __future__ import annotations
