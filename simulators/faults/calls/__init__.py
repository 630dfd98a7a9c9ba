"""Faults of calls: which are made, with which ids and arguments, and which never arrive."""

from __future__ import annotations
