"""Whether a request switches thinking on or off, read from each format's fields."""

from __future__ import annotations

from collections.abc import Mapping

from probes.adapters.json_fields import object_or_empty
from probes.messages import JSON
from simulators.vendors.model_traits import Model, ThinkingMode

Body = Mapping[str, JSON]


def is_thinking(model: Model, switch: bool | None) -> bool:
    """Whether a model thinks, given the request's switch: on, off or not set."""
    match model.thinking_mode:
        case ThinkingMode.NEVER:
            return False
        case ThinkingMode.ON_REQUEST:
            return switch is True
        case ThinkingMode.UNLESS_DISABLED:
            return switch is not False
        case ThinkingMode.ALWAYS:
            return True


def chat(body: Body) -> bool | None:
    """`thinking`, the template's switch or an effort."""
    kind = object_or_empty(body.get("thinking")).get("type")
    if kind in ("enabled", "disabled"):
        return kind == "enabled"
    switch = object_or_empty(body.get("chat_template_kwargs")).get("enable_thinking")
    if isinstance(switch, bool):
        return switch
    return _effort_switch(body.get("reasoning_effort"))


def thinking_only(body: Body) -> bool | None:
    """GLM and Kimi: `thinking` decides; an effort is accepted and ignored."""
    return chat({"thinking": body.get("thinking")})


def qwen(body: Body) -> bool | None:
    """DashScope: `enable_thinking` next to the messages."""
    switch = body.get("enable_thinking")
    return switch if isinstance(switch, bool) else chat(body)


def relay(body: Body) -> bool | None:
    """OpenRouter: an object with a switch, an effort or a budget."""
    reasoning = body.get("reasoning")
    if not isinstance(reasoning, Mapping):
        return chat(body)
    switch = reasoning.get("enabled")
    if isinstance(switch, bool):
        return switch
    effort = _effort_switch(reasoning.get("effort"))
    return bool(reasoning) if effort is None else effort


def responses(body: Body) -> bool | None:
    return _effort_switch(object_or_empty(body.get("reasoning")).get("effort"))


def anthropic(body: Body) -> bool | None:
    kind = object_or_empty(body.get("thinking")).get("type")
    return None if kind is None else kind != "disabled"


def gemini(body: Body) -> bool | None:
    # Google's own client writes some of these names in snake case, and the API accepts both.
    config = _read_either(body, "generationConfig", "generation_config")
    thinking = _read_either(config, "thinkingConfig", "thinking_config")
    include_thoughts = thinking.get("includeThoughts", thinking.get("include_thoughts"))
    return include_thoughts if isinstance(include_thoughts, bool) else None


def ollama(body: Body) -> bool | None:
    think = body.get("think")
    return None if think is None else bool(think)


def _read_either(body: Body, name: str, other: str) -> Body:
    return object_or_empty(body.get(name, body.get(other)))


def _effort_switch(value: JSON) -> bool | None:
    return value != "none" if isinstance(value, str) else None
