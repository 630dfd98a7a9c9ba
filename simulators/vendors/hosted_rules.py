"""Request rules of GLM, DashScope, Kimi and a relay beyond the JSON shape."""

from __future__ import annotations

from simulators.vendors import closure_rules
from simulators.vendors.anthropic_rules import read_messages
from simulators.vendors.deepseek_rules import check_reasoning
from simulators.vendors.error_envelopes import RefusedByHost, RequestRefused
from simulators.vendors.model_traits import ReplayDuty
from simulators.vendors.spec import VendorRequest

RELAYED_FIELDS = ("reasoning", "reasoning_details", "reasoning_content")


def check_glm(request: VendorRequest) -> None:
    if request.body.get("tool_choice", "auto") != "auto":
        raise RequestRefused("Tool choice must be auto", code="1210")
    _check_rerouted(request)


def check_qwen(request: VendorRequest) -> None:
    if request.thinks and request.forces:
        raise RequestRefused(
            "<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not "
            "support being set to required or object in thinking mode"
        )
    closure_rules.DASHSCOPE_CLOSURE.check(request.body)
    _check_rerouted(request)


def check_kimi(request: VendorRequest) -> None:
    if not isinstance(request.body.get("thinking", {}), dict):
        raise RequestRefused("the thinking field in the request (expected type object) is illegal")
    if "thinking" in request.body and "reasoning_effort" in request.body:
        raise RequestRefused("cannot specify both 'thinking' and 'reasoning_effort'")
    if request.thinks and request.forces:
        is_named = isinstance(request.body.get("tool_choice"), dict)
        choice = "specified" if is_named else "required"
        raise RequestRefused(f"tool_choice '{choice}' is incompatible with thinking enabled")
    closure_rules.KIMI_CLOSURE.check(request.body)
    if request.thinks and request.model.replay in (ReplayDuty.CALL_TURNS, ReplayDuty.ALL_TURNS):
        _check_call_turns(request)


def check_relay(request: VendorRequest) -> None:
    """The relay itself accepts anything; the host behind it does not."""
    try:
        closure_rules.OPENAI_CLOSURE.check(request.body)
        if request.thinks:
            check_reasoning(request.body, request.model.replay, RELAYED_FIELDS)
    except RequestRefused as refusal:
        raise RefusedByHost(refusal) from refusal


def _check_rerouted(request: VendorRequest) -> None:
    """These models require no replay; the model behind a re-route can."""
    if request.thinks:
        check_reasoning(request.body, request.model.replay)


def _check_call_turns(request: VendorRequest) -> None:
    for index, message in enumerate(read_messages(request.body)):
        if message.get("tool_calls") and not isinstance(message.get("reasoning_content"), str):
            raise RequestRefused(
                "thinking is enabled but reasoning_content is missing in assistant tool call "
                f"message at index {index}"
            )
