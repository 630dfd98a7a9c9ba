"""OpenAI Responses."""

from __future__ import annotations

from probes.adapters.openai_responses.adapter import OpenAIResponsesAdapter

__all__ = ["OpenAIResponsesAdapter"]
