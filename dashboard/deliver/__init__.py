"""Handing a message over to a channel: no rows, only what leaves and how that went."""

from __future__ import annotations
