"""Recorded runs that `toolgauge replay` replays, and the program that records them."""

from __future__ import annotations
