"""Faults of tool calls: which are made, with which ids and arguments, and which are lost."""

from __future__ import annotations
