"""Reads JSON schemas, and simplifies them for endpoints that cannot follow a full one."""

from __future__ import annotations
