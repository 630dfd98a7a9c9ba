"""Vendors, each with its own wire format, rules and messages, around one small model."""

from __future__ import annotations
