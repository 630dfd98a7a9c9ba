"""What GLM, DashScope, Kimi and a relay demand of a request beyond its shape."""

from __future__ import annotations

from simulators.vendors import closure_rules
from simulators.vendors.anthropic_rules import messages_of
from simulators.vendors.deepseek_rules import check_reasoning
from simulators.vendors.error_envelopes import Complaint, Relayed
from simulators.vendors.model_traits import Replay
from simulators.vendors.spec import Asked

RELAYED_FIELDS = ("reasoning", "reasoning_details", "reasoning_content")


def glm(asked: Asked) -> None:
    if asked.body.get("tool_choice", "auto") != "auto":
        raise Complaint("Tool choice must be auto", code="1210")
    _check_rerouted(asked)


def qwen(asked: Asked) -> None:
    if asked.thinks and asked.forces:
        raise Complaint(
            "<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not "
            "support being set to required or object in thinking mode"
        )
    closure_rules.DASHSCOPE_CLOSURE.check(asked.body)
    _check_rerouted(asked)


def kimi(asked: Asked) -> None:
    if not isinstance(asked.body.get("thinking", {}), dict):
        raise Complaint("the thinking field in the request (expected type object) is illegal")
    if "thinking" in asked.body and "reasoning_effort" in asked.body:
        raise Complaint("cannot specify both 'thinking' and 'reasoning_effort'")
    if asked.thinks and asked.forces:
        named = isinstance(asked.body.get("tool_choice"), dict)
        choice = "specified" if named else "required"
        raise Complaint(f"tool_choice '{choice}' is incompatible with thinking enabled")
    closure_rules.KIMI_CLOSURE.check(asked.body)
    if asked.thinks and asked.model.replay in (Replay.CALL_TURNS, Replay.ALL_TURNS):
        _check_call_turns(asked)


def relay(asked: Asked) -> None:
    """The relay itself takes anything; the host behind it does not."""
    try:
        closure_rules.OPENAI_CLOSURE.check(asked.body)
        if asked.thinks:
            check_reasoning(asked.body, asked.model.replay, RELAYED_FIELDS)
    except Complaint as complaint:
        raise Relayed(complaint) from complaint


def _check_rerouted(asked: Asked) -> None:
    """These models want nothing back; one that stands in for them may."""
    if asked.thinks:
        check_reasoning(asked.body, asked.model.replay)


def _check_call_turns(asked: Asked) -> None:
    for index, message in enumerate(messages_of(asked.body)):
        if message.get("tool_calls") and not isinstance(message.get("reasoning_content"), str):
            raise Complaint(
                "thinking is enabled but reasoning_content is missing in assistant tool call "
                f"message at index {index}"
            )
