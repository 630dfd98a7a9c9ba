"""Limits of what is sent: late system messages, described tools, references, images."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import dropwhile

from probes.messages import Role, ToolResult, Turn
from simulators.faults.calls.call_behaviour import AnswerChange
from simulators.faults.fault import EVERY_FORMAT, Effect, Fault
from simulators.faults.refusals.refusal import (
    Body,
    RefusalCheck,
    list_entries,
    refusal_fault,
)
from simulators.model import answers
from simulators.model.answers import PROSE, Answer
from simulators.model.pictures import (
    describe_pictures,
    find_pictures,
    without_pictures,
    without_result_pictures,
)
from simulators.vendors.error_envelopes import RequestRefused
from simulators.vendors.spec import Rule, Spec, VendorRequest

LATE_SYSTEM = "System message must be at the beginning."


def _ignore_late_system(answer: Answer, request: VendorRequest) -> Answer:
    turns = request.call.turns
    late = list(_late_system(turns))
    if not late or answer.tool_requests:
        return answer
    kept = tuple(turn for turn in turns if not any(turn is other for other in late))
    return answers.answer_request(replace(request.call, turns=kept))


def _late_system(turns: tuple[Turn, ...]) -> Iterator[Turn]:
    later = dropwhile(lambda turn: turn.role is Role.SYSTEM, turns)
    return (turn for turn in later if turn.role is Role.SYSTEM)


def _ignore_prompted_tools(answer: Answer, request: VendorRequest) -> Answer:
    if answer.prompted is None or not answer.tool_requests:
        return answer
    return replace(answer, text=PROSE, tool_requests=())


def _ignore_pictures(drop: Callable[[Turn], Turn], in_user_turn: str) -> AnswerChange:
    def change(answer: Answer, request: VendorRequest) -> Answer:
        if answer.tool_requests or not any(find_pictures(request.body)):
            return answer
        turns = tuple(map(drop, request.call.turns))
        return answers.answer_request(replace(request.call, turns=turns))

    return AnswerChange(change, lambda spec: spec.limit_images("unused", in_user_turn))


def _refuse_pictures(request: VendorRequest) -> None:
    if any(find_pictures(request.body)):
        raise RequestRefused("Invalid content type. image_url is only supported by certain models.")


def _refuse_result_pictures(request: VendorRequest) -> None:
    if any(map(describe_pictures, _results(request))):
        raise RequestRefused("Tool message content only supports text.")


def _fail_on_pictures(request: VendorRequest) -> None:
    if any(find_pictures(request.body)):
        raise RequestRefused("Internal Server Error", status=500)


def _fail_on_result_pictures(request: VendorRequest) -> None:
    if any(map(describe_pictures, _results(request))):
        raise RequestRefused("Internal Server Error", status=500)


def _results(request: VendorRequest) -> Iterator[ToolResult]:
    return (result for turn in request.call.turns for result in turn.results)


def _refuse_late_system(request: VendorRequest) -> None:
    roles = [message.get("role") for message in list_entries(request.body, "messages")]
    if "system" in list(dropwhile(lambda role: role == "system", roles)):
        raise RequestRefused(LATE_SYSTEM)


def _refuse_references(request: VendorRequest) -> None:
    for tool in list_entries(request.body, "tools"):
        if '"$ref"' in json.dumps(tool):
            name = _tool_name(tool)
            raise RequestRefused(f"Invalid schema for function '{name}': '$ref' is not permitted.")


def _tool_name(tool: Body) -> str:
    function = tool.get("function")
    return str((function if isinstance(function, dict) else tool).get("name"))


def _ignoring_late_system(spec: Spec) -> Spec:
    """A vendor that refuses late system messages has none to ignore."""
    is_accepted = spec.system_position == "anywhere"
    return replace(spec, system_position="ignored") if is_accepted else spec


def _first_only(spec: Spec) -> Spec:
    return replace(spec, system_position="first_only")


def _image_fault(name: str, symptom: str, check: Rule, in_user_turn: str) -> Fault:
    def limit(spec: Spec) -> Spec:
        return spec.limit_images("refused", in_user_turn)

    checks = dict.fromkeys(EVERY_FORMAT, check)
    return refusal_fault(name, "", symptom, RefusalCheck(checks, limit))


FAULTS = (
    Fault(
        "ignores-late-system",
        "",
        "a system message after the first turns is accepted and not followed",
        lambda value: AnswerChange(_ignore_late_system, _ignoring_late_system),
        EVERY_FORMAT - {"gemini"},
    ),
    refusal_fault(
        "late-system-refused",
        "",
        "400 for a system message after the first turns, as chat templates of Qwen say it",
        RefusalCheck(
            dict.fromkeys(("openai", "ollama", "anthropic"), _refuse_late_system), _first_only
        ),
    ),
    Fault(
        "ignores-prompted-tools",
        "",
        "prose where a call in the format of the prompt is owed",
        lambda value: AnswerChange(_ignore_prompted_tools),
        effect=Effect(fields={"prompted_tools": "none"}),
    ),
    refusal_fault(
        "refuses-ref",
        "",
        "400 for a tool whose schema has $ref",
        RefusalCheck(
            dict.fromkeys(("openai", "anthropic", "openai_responses"), _refuse_references)
        ),
        Effect(fields={"schema_level": "simple_object"}),
    ),
    Fault(
        "blind",
        "",
        "images are accepted and not seen",
        lambda value: _ignore_pictures(without_pictures, "unused"),
    ),
    Fault(
        "blind-results",
        "",
        "images in tool results are accepted and not seen; those in user messages are",
        lambda value: _ignore_pictures(without_result_pictures, "used"),
    ),
    _image_fault("images-refused", "400 for an image", _refuse_pictures, "refused"),
    _image_fault(
        "result-images-refused",
        "400 for an image in a tool result",
        _refuse_result_pictures,
        "used",
    ),
    _image_fault("images-fail", "500 for an image", _fail_on_pictures, "refused"),
    _image_fault(
        "result-images-fail",
        "500 for an image in a tool result",
        _fail_on_result_pictures,
        "used",
    ),
)
