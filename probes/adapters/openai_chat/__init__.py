"""OpenAI Chat Completions."""

from __future__ import annotations

from probes.adapters.openai_chat.adapter import OpenAIChatAdapter

__all__ = ["OpenAIChatAdapter"]
