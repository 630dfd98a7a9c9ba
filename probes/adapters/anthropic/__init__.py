"""Anthropic Messages."""

from __future__ import annotations

from probes.adapters.anthropic.adapter import AnthropicAdapter

__all__ = ["AnthropicAdapter"]
