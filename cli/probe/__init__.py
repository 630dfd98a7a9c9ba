"""`toolgauge probe`."""

from __future__ import annotations
