"""Faults of an answer's text: calls that leak as text, prose instead of a call."""

from __future__ import annotations
