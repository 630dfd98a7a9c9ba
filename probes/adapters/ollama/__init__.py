"""Ollama /api/chat."""

from __future__ import annotations

from probes.adapters.ollama.adapter import OllamaAdapter

__all__ = ["OllamaAdapter"]
