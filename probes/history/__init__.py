"""Conversations: closed, repaired, trimmed, and replayed by the rule of who is asked."""

from __future__ import annotations
