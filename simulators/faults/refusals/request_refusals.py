"""Requests that a vendor refuses for their content or their form."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from typing_extensions import override

from probes.adapters.json_fields import object_or_empty, text_or_empty
from simulators.faults.fault import Fault
from simulators.faults.refusals.forced_choice import FORCED_CHOICE_REFUSED
from simulators.faults.refusals.refusal import (
    Body,
    RefusalCheck,
    chain_rules,
    check_body,
    list_entries,
    refusal_fault,
)
from simulators.faults.refusals.relay_errors import RELAY_WRAPPED
from simulators.vendors import anthropic_rules
from simulators.vendors.error_envelopes import RequestRefused
from simulators.vendors.hooks import FaultHooks
from simulators.vendors.openai_rules import PARAMETERS
from simulators.vendors.spec import Rule, Spec, VendorRequest

DESERIALIZE_ERROR = "Failed to deserialize the JSON body into the target type: "
EXTRA = "Extra inputs are not permitted"
EFFORTS = ("none", "minimal", "low", "medium", "high")
NO_PARSER = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
RESPONSES_PARAMETERS = frozenset(
    {
        "background",
        "conversation",
        "include",
        "input",
        "instructions",
        "max_output_tokens",
        "max_tool_calls",
        "metadata",
        "model",
        "parallel_tool_calls",
        "previous_response_id",
        "prompt",
        "prompt_cache_key",
        "prompt_cache_retention",
        "reasoning",
        "safety_identifier",
        "service_tier",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "text",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "truncation",
        "user",
    }
)

# Per format, the fields of a request, and the refusal of others.
KNOWN_PARAMETERS = {
    "openai": (PARAMETERS, "Unknown parameter: '{name}'."),
    "openai_responses": (RESPONSES_PARAMETERS, "Unknown parameter: '{name}'."),
    "anthropic": (anthropic_rules.PARAMETERS, "{name}: Extra inputs are not permitted"),
}


def _unknown_variant(body: Body, where: str, value: str, expected: str) -> RequestRefused:
    """A value that DeepSeek's gateway does not know, with its parser's message."""
    sent = json.dumps(body, separators=(",", ":"))
    column = sent.find(json.dumps(value)) + len(json.dumps(value))
    return RequestRefused(
        f"{DESERIALIZE_ERROR}{where}: unknown variant `{value}`, expected {expected} at line 1 "
        f"column {column}"
    )


def _refuse_developer(body: Body) -> None:
    roles = "one of `system`, `user`, `assistant`, `tool`, `latest_reminder`"
    for index, message in enumerate(list_entries(body, "messages")):
        if message.get("role") == "developer":
            raise _unknown_variant(body, f"messages[{index}].role", "developer", roles)


def _refuse_other_tools(body: Body) -> None:
    for index, tool in enumerate(list_entries(body, "tools")):
        kind = text_or_empty(tool.get("type"))
        if kind != "function":
            raise _unknown_variant(body, f"tools[{index}].type", kind, "`function`")


def _refuse_unknown_effort(body: Body) -> None:
    effort = body.get("reasoning_effort")
    if isinstance(effort, str) and effort not in EFFORTS:
        expected = ", ".join(f"`{name}`" for name in EFFORTS)
        raise _unknown_variant(body, "reasoning_effort", effort, f"one of {expected}")


def _refuse_tools(request: VendorRequest) -> None:
    if list_entries(request.body, "tools"):
        name = request.call.model
        raise RequestRefused(f"registry.ollama.ai/library/{name} does not support tools")


def _refuse_auto_choice(body: Body) -> None:
    if list_entries(body, "tools") and body.get("tool_choice") != "none":
        raise RequestRefused(NO_PARSER)


def _refuse_effort_with_tools(request: VendorRequest) -> None:
    if list_entries(request.body, "tools") and request.body.get("reasoning_effort") != "none":
        raise RequestRefused(
            f"Function tools with reasoning_effort are not supported for {request.call.model} in "
            "/v1/chat/completions. To use function tools, use /v1/responses or set "
            "reasoning_effort to 'none'.",
            param="reasoning_effort",
        )


def _refuse_empty_schema(body: Body) -> None:
    for tool in list_entries(body, "tools"):
        if not object_or_empty(tool.get("function")).get("parameters"):
            raise RequestRefused("invalid params, function parameters is empty (2013)")


def _allow_only(known: frozenset[str], text: str) -> Rule:
    def check(body: Body) -> None:
        for name in body:
            if name not in known:
                raise RequestRefused(
                    text.replace("{name}", name), param=name, code="unknown_parameter"
                )

    return check_body(check)


class UnknownParameter(FaultHooks):
    """Refuses fields that neither the format nor the vendor has."""

    @override
    def spec(self, spec: Spec) -> Spec:
        if spec.format not in KNOWN_PARAMETERS:
            return spec
        known, text = KNOWN_PARAMETERS[spec.format]
        check = _allow_only(known | spec.own_parameters, text)
        return replace(spec, rule=chain_rules(check, spec.rule))


def _without_tools(spec: Spec) -> Spec:
    models = {name: replace(model, takes_tools=False) for name, model in spec.models.items()}
    return replace(spec, models=models)


def _chat_check(
    check: Callable[[Body], None], change: Callable[[Spec], Spec] = lambda spec: spec
) -> RefusalCheck:
    return RefusalCheck({"openai": check_body(check)}, change)


FAULTS = (
    FORCED_CHOICE_REFUSED,
    refusal_fault(
        "no-developer-role", "Z56", "400 for a developer's message", _chat_check(_refuse_developer)
    ),
    refusal_fault(
        "function-tools-only",
        "Z57",
        "400 for a tool that is no function",
        _chat_check(_refuse_other_tools),
    ),
    refusal_fault(
        "no-tools",
        "Z66",
        "400 for every request that offers tools, as Ollama says it",
        RefusalCheck({"ollama": _refuse_tools, "openai": _refuse_tools}, _without_tools),
    ),
    refusal_fault(
        "vllm-no-auto",
        "",
        "400 for every request that offers tools, as vLLM without a parser says it",
        _chat_check(_refuse_auto_choice, _without_tools),
    ),
    refusal_fault(
        "effort-refused",
        "Z59",
        "400 for an effort that the host does not know, such as xhigh",
        _chat_check(_refuse_unknown_effort),
    ),
    refusal_fault(
        "endpoint-mismatch",
        "Z61",
        "400 for tools on Chat Completions unless the effort is none",
        RefusalCheck({"openai": _refuse_effort_with_tools}, _without_tools),
    ),
    refusal_fault(
        "empty-schema-refused",
        "Z39",
        "400 for a tool without parameters",
        _chat_check(_refuse_empty_schema),
    ),
    Fault(
        "unknown-parameter",
        "",
        "400 for a field that neither the format nor the vendor has",
        lambda value: UnknownParameter(),
        frozenset(KNOWN_PARAMETERS),
    ),
    RELAY_WRAPPED,
)
