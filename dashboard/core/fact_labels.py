"""Labels of an endpoint's fields and of the facts that it reports about itself."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from dashboard.core.safe_text import clip, visible

_FACTS = {
    "provider": gettext_lazy("Provider"),
    "model": gettext_lazy("Model"),
    "endpoint_url": gettext_lazy("Base URL"),
    "base_url": gettext_lazy("Base URL"),
    "chat_template_hash": gettext_lazy("Chat template"),
    "dialect": gettext_lazy("Dialect"),
    "suite_version": gettext_lazy("Suite"),
    "slug": gettext_lazy("Name"),
    "options": gettext_lazy("Request options"),
    "ttl": gettext_lazy("Probed every"),
    "max_concurrency": gettext_lazy("Requests at once"),
    "enabled": gettext_lazy("Probed on schedule"),
    "daily_requests": gettext_lazy("Requests a day"),
    "daily_tokens": gettext_lazy("Tokens a day"),
    "price_input": gettext_lazy("Price of input"),
    "price_output": gettext_lazy("Price of output"),
    "currency": gettext_lazy("Currency"),
    "tags": gettext_lazy("Tags"),
    "team": gettext_lazy("Team"),
    "key": gettext_lazy("API key"),
    "system_fingerprint": gettext_lazy("System fingerprint"),
    "server": gettext_lazy("Server header"),
    "engine": gettext_lazy("Engine"),
    "engine_capabilities": gettext_lazy("Engine capabilities"),
    "via": gettext_lazy("Via"),
    "model_path": gettext_lazy("Model path"),
    "models_hash": gettext_lazy("Models hash"),
    "modified_at": gettext_lazy("Modified at"),
    "parser": gettext_lazy("Parser"),
    "tool_call_parser": gettext_lazy("Tool call parser"),
    "reasoning_parser": gettext_lazy("Reasoning parser"),
    "renderer": gettext_lazy("Renderer"),
    "prompt_tokens_canary": gettext_lazy("Prompt tokens canary"),
}


def fact_label(fact: str) -> str:
    """The name of a fact; a fact without a name is shown by its code."""
    label = _FACTS.get(fact)
    return str(label) if label else visible(clip(fact, 60)).replace("_", " ")
