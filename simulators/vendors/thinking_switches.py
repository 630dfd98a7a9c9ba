"""Whether a request switches thinking on or off, in each format's own fields."""

from __future__ import annotations

from collections.abc import Mapping

from probes.adapters.json_fields import object_or_empty
from probes.messages import JSON
from simulators.vendors.model_traits import Model, ThinkingMode

Body = Mapping[str, JSON]


def thinks(model: Model, wanted: bool | None) -> bool:
    """Whether a model thinks for a request that says so, forbids it or says nothing."""
    match model.thinks:
        case ThinkingMode.NEVER:
            return False
        case ThinkingMode.ASKED:
            return wanted is True
        case ThinkingMode.UNLESS_DISABLED:
            return wanted is not False
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
    return _effort(body.get("reasoning_effort"))


def thinking_only(body: Body) -> bool | None:
    """GLM and Kimi: `thinking` decides; an effort is taken and changes nothing."""
    return chat({"thinking": body.get("thinking")})


def qwen(body: Body) -> bool | None:
    """DashScope: `enable_thinking` beside the messages."""
    switch = body.get("enable_thinking")
    return switch if isinstance(switch, bool) else chat(body)


def relay(body: Body) -> bool | None:
    """OpenRouter: an object that switches, sets an effort or a budget."""
    wanted = body.get("reasoning")
    if not isinstance(wanted, Mapping):
        return chat(body)
    switch = wanted.get("enabled")
    if isinstance(switch, bool):
        return switch
    effort = _effort(wanted.get("effort"))
    return bool(wanted) if effort is None else effort


def responses(body: Body) -> bool | None:
    return _effort(object_or_empty(body.get("reasoning")).get("effort"))


def anthropic(body: Body) -> bool | None:
    kind = object_or_empty(body.get("thinking")).get("type")
    return None if kind is None else kind != "disabled"


def gemini(body: Body) -> bool | None:
    # Google's own client writes some of these names in snake case, and the API takes both.
    config = _either(body, "generationConfig", "generation_config")
    thinking = _either(config, "thinkingConfig", "thinking_config")
    shown = thinking.get("includeThoughts", thinking.get("include_thoughts"))
    return shown if isinstance(shown, bool) else None


def ollama(body: Body) -> bool | None:
    wanted = body.get("think")
    return None if wanted is None else bool(wanted)


def _either(body: Body, name: str, other: str) -> Body:
    return object_or_empty(body.get(name, body.get(other)))


def _effort(value: JSON) -> bool | None:
    return value != "none" if isinstance(value, str) else None
