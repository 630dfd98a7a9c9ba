"""Conversations: closed, repaired, trimmed, and replayed by the rule of the receiving endpoint."""

from __future__ import annotations
