"""Gemini generateContent."""

from __future__ import annotations

from probes.adapters.gemini.adapter import GeminiAdapter

__all__ = ["GeminiAdapter"]
