"""Results that are refused or dropped in their own role, and understood as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from probes.messages import JSON, Role
from probes.outcomes import Metric
from simulators.faults.calls.call_behaviour import NOT_SEEN, AnswerChange
from simulators.faults.fault import Effect, Fault
from simulators.faults.refusals.refusal import (
    RefusalCheck,
    find_blocks,
    list_entries,
    refusal_fault,
)
from simulators.model import answers
from simulators.model.answers import Answer
from simulators.vendors.error_envelopes import RequestRefused
from simulators.vendors.spec import VendorRequest

TEMPLATE_ERROR = "Conversation roles must alternate user/assistant/user/assistant/..."
CHAT_ROLE = (
    "Invalid value: 'tool'. Supported values are: 'system', 'assistant', 'user', and 'developer'."
)
OLLAMA_ROLE = "invalid role: tool, must be one of [system, user, assistant]"
ANTHROPIC_TAG = (
    "messages.{index}.content.{place}: Input tag 'tool_result' found using 'type' does not match "
    "any of the expected tags: 'image', 'text'"
)
# No result arrives, so whatever needs one fails or stays unknown.
LOST_RESULTS: Mapping[str, JSON] = MappingProxyType(
    {
        "result_role": "user_text",
        "error_repair": "unknown",
        "image_result": "unknown",
    }
)


def _refuse_role(message: str, status: int = 400) -> RefusalCheck:
    def check(request: VendorRequest) -> None:
        if any(entry.get("role") == "tool" for entry in list_entries(request.body, "messages")):
            raise RequestRefused(message, status=status)

    return RefusalCheck({"openai": check})


def _refuse_ollama_role(request: VendorRequest) -> None:
    if any(entry.get("role") == "tool" for entry in list_entries(request.body, "messages")):
        raise RequestRefused(OLLAMA_ROLE)


def _refuse_result_blocks(request: VendorRequest) -> None:
    for index, message in enumerate(list_entries(request.body, "messages")):
        for place, _ in find_blocks(message, "tool_result"):
            raise RequestRefused(ANTHROPIC_TAG.format(index=index, place=place))


def _drop_results(answer: Answer, request: VendorRequest) -> Answer:
    """Answer as if calls and results had never been there."""
    turns = request.call.turns
    if not any(turn.results for turn in turns):
        return answer
    kept = tuple(turn for turn in turns if turn.role is not Role.TOOL and not turn.calls)
    return answers.answer_request(replace(request.call, turns=kept))


_REFUSED_ROLES = RefusalCheck(
    {
        **_refuse_role(CHAT_ROLE).checks,
        "ollama": _refuse_ollama_role,
        "anthropic": _refuse_result_blocks,
    }
)
FAULTS = (
    refusal_fault(
        "tool-role-refused",
        "",
        "400 for results in their own role; as text in a user message they are used",
        _REFUSED_ROLES,
        Effect({Metric.CLOSURE_ERROR: 1, Metric.RESULT_USE: 1}, LOST_RESULTS),
    ),
    refusal_fault(
        "template-without-tools",
        "",
        "500 for results in their own role, as llama.cpp says it of a template without them",
        _refuse_role(TEMPLATE_ERROR, 500),
        Effect({Metric.CLOSURE_ERROR: 1, Metric.RESULT_USE: 1}, LOST_RESULTS),
    ),
    Fault(
        "tool-role-ignored",
        "",
        "results in their own role are accepted and not seen; as text in a user message they are",
        lambda value: AnswerChange(_drop_results, lambda spec: spec.limit_images(*NOT_SEEN)),
        effect=Effect(
            {Metric.RESULT_USE: 1, Metric.REPAIR_SUCCESS: 1},
            {"result_role": "user_text", "error_repair": "none"},
        ),
    ),
)
