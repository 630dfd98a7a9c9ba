"""Limits of what is sent: late system messages, described tools, references, images."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import dropwhile

from typing_extensions import override

from probes.messages import Part, Role, ToolResult, Turn
from simulators.faults.fault import EVERY_FORMAT, Effect, Fault
from simulators.faults.refusals.refusal import (
    Body,
    RefusalCheck,
    keep_spec,
    list_entries,
    refusal_fault,
)
from simulators.model import answers
from simulators.model.answers import PROSE, Answer
from simulators.model.pictures import find_pictures
from simulators.vendors.error_envelopes import RequestRefused
from simulators.vendors.hooks import FaultHooks
from simulators.vendors.spec import Spec, VendorRequest

LATE_SYSTEM = "System message must be at the beginning."


@dataclass(frozen=True, slots=True)
class ChangedAnswer(FaultHooks):
    """Replaces the model's answer."""

    change: Callable[[Answer, VendorRequest], Answer]
    change_spec: Callable[[Spec], Spec] = keep_spec

    @override
    def spec(self, spec: Spec) -> Spec:
        return self.change_spec(spec)

    @override
    def answer(self, answer: Answer, request: VendorRequest, rng: random.Random) -> Answer:
        return self.change(answer, request)


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


def _ignore_pictures(answer: Answer, request: VendorRequest) -> Answer:
    if answer.tool_requests or not any(find_pictures(request.body)):
        return answer
    turns = tuple(
        replace(turn, parts=tuple(map(_without_pictures, turn.parts)))
        for turn in request.call.turns
    )
    return answers.answer_request(replace(request.call, turns=turns))


def _without_pictures(part: Part) -> Part:
    return replace(part, blocks=(), extra={}) if isinstance(part, ToolResult) else part


def _refuse_pictures(request: VendorRequest) -> None:
    if any(find_pictures(request.body)):
        raise RequestRefused("Invalid content type. image_url is only supported by certain models.")


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


FAULTS = (
    Fault(
        "ignores-late-system",
        "",
        "a system message after the first turns is accepted and not followed",
        lambda value: ChangedAnswer(_ignore_late_system, _ignoring_late_system),
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
        lambda value: ChangedAnswer(_ignore_prompted_tools),
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
        "images in tool results are accepted and not seen",
        lambda value: ChangedAnswer(_ignore_pictures),
    ),
    refusal_fault(
        "images-refused",
        "",
        "400 for an image in a tool result",
        RefusalCheck(dict.fromkeys(EVERY_FORMAT, _refuse_pictures)),
    ),
)
