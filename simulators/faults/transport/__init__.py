"""Faults of delivery: delays, broken connections, proxies, outages."""

from __future__ import annotations
