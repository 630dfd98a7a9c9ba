"""Faults that affect only streamed answers, per wire format."""

from __future__ import annotations
