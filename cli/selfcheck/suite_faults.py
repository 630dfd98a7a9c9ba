"""Faults of the self-check alone: they know the probes, which no vendor does."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from typing_extensions import override

from probes.messages import JSON, NONE, Role
from probes.suite.probe_tools import PROBE_FAIL_ONCE, SAFE
from simulators.faults.fault import Fault
from simulators.faults.fault_registry import FAULTS
from simulators.model.answers import Answer
from simulators.model.tool_requests import ToolRequest, force_tool_request
from simulators.vendors.error_envelopes import RequestRefused
from simulators.vendors.hooks import FaultHooks
from simulators.vendors.spec import VendorRequest

# OpenAI's message; the call that it names does not matter here.
UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
    "'tool_call_id'. The following tool_call_ids did not have response messages: call_1"
)


@dataclass(frozen=True, slots=True)
class ChangesAnswer(FaultHooks):
    """The model gives a changed answer."""

    change: Callable[[Answer, VendorRequest], Answer]

    @override
    def answer(self, answer: Answer, request: VendorRequest, rng: random.Random) -> Answer:
        return self.change(answer, request)


class RefusesNextTurn(FaultHooks):
    """Accepts the results of calls, and refuses the user's next message after them."""

    @override
    def refuse(self, request: VendorRequest, rng: random.Random) -> None:
        turns = request.call.turns
        if turns[-1].role is Role.USER and any(turn.results for turn in turns):
            raise RequestRefused(UNANSWERED)


class RefusesStreams(FaultHooks):
    """Accepts tools only without streaming."""

    @override
    def refuse(self, request: VendorRequest, rng: random.Random) -> None:
        if request.call.stream:
            raise RequestRefused("This model does not support tools in streaming mode.")


class RefusesParallelOff(FaultHooks):
    """Does not know the parameter for parallel calls."""

    @override
    def refuse(self, request: VendorRequest, rng: random.Random) -> None:
        if request.call.parallel is False:
            message = "Unrecognized request argument supplied: parallel_tool_calls"
            raise RequestRefused(message)


def _other_values(answer: Answer, request: VendorRequest) -> Answer:
    def change(tool_request: ToolRequest) -> ToolRequest:
        properties = (tool_request.tool.schema or {}).get("properties")
        schemas = properties if isinstance(properties, Mapping) else {}
        return replace(
            tool_request,
            arguments={
                name: value if _is_choice(schemas.get(name)) else _other(value)
                for name, value in tool_request.arguments.items()
            },
        )

    return replace(
        answer, tool_requests=tuple(change(tool_request) for tool_request in answer.tool_requests)
    )


def _is_choice(schema: JSON) -> bool:
    return isinstance(schema, Mapping) and "enum" in schema


def _other(value: JSON) -> JSON:
    """A different value of the same type."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str():
            return f"{value}!"
        case list():
            return [_other(item) for item in value]
        case Mapping():
            return {name: _other(item) for name, item in value.items()}
        case _:
            return value


def _unrequested_call(answer: Answer, request: VendorRequest) -> Answer:
    tools = request.call.tools
    if answer.tool_requests or not tools or request.call.tool_choice == NONE:
        return answer
    return replace(answer, tool_requests=(force_tool_request("", tools[0]),))


def _upper_case(answer: Answer, request: VendorRequest) -> Answer:
    return replace(answer, text=answer.text.upper())


def _safe_path_at_once(answer: Answer, request: VendorRequest) -> Answer:
    tool_requests = tuple(
        replace(tool_request, arguments={"path": f"{SAFE}known"})
        if tool_request.tool.name == PROBE_FAIL_ONCE.name
        else tool_request
        for tool_request in answer.tool_requests
    )
    return replace(answer, tool_requests=tool_requests)


def _fault(name: str, symptom: str, hooks: FaultHooks) -> Fault:
    return Fault(name, "", symptom, lambda value: hooks)


SUITE_FAULTS = (
    _fault(
        "other-values",
        "arguments that fit and are not those asked for",
        ChangesAnswer(_other_values),
    ),
    _fault(
        "unasked-call", "a call where plain words were asked for", ChangesAnswer(_unrequested_call)
    ),
    _fault("shouting", "all words in capitals", ChangesAnswer(_upper_case)),
    _fault("safe-at-once", "the path that only an error tells", ChangesAnswer(_safe_path_at_once)),
    _fault("refuses-next-turn", "400 for the words after a tool's results", RefusesNextTurn()),
    _fault("refuses-streams", "400 for every stream", RefusesStreams()),
    _fault("refuses-parallel-off", "400 for parallel_tool_calls", RefusesParallelOff()),
)
SELFCHECK_FAULTS: Mapping[str, Fault] = MappingProxyType(
    {**FAULTS, **{fault.name: fault for fault in SUITE_FAULTS}}
)
