"""`toolgauge selfcheck`."""

from __future__ import annotations
