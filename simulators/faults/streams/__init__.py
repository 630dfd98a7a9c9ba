"""Faults of streamed answers only, per wire format."""

from __future__ import annotations
