"""Recorded runs that `toolgauge replay` plays, and how they are recorded."""

from __future__ import annotations
