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
from simulators.model.answers import PROSE, Answer, answer_request
from simulators.model.schema_values import Schema, properties, required, resolve
from simulators.model.tool_requests import ToolRequest, force_tool_request
from simulators.vendors.error_envelopes import RequestRefused
from simulators.vendors.hooks import FaultHooks
from simulators.vendors.spec import VendorRequest

# OpenAI's message; the call that it names does not matter here.
UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
    "'tool_call_id'. The following tool_call_ids did not have response messages: call_1"
)

LONG_TEXT = 2000


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


def _change_values(answer: Answer, change: Callable[[JSON, Schema], JSON]) -> Answer:
    """Change every argument by its own schema, inside of objects as well."""

    def changed(value: JSON, schema: Schema, root: Schema) -> JSON:
        schema = resolve(schema, root)
        if not isinstance(value, Mapping):
            return change(value, schema)
        rules = properties(schema, root)
        return {name: changed(item, rules.get(name, {}), root) for name, item in value.items()}

    def with_changes(tool_request: ToolRequest) -> ToolRequest:
        root = tool_request.tool.schema or {}
        arguments = changed(tool_request.arguments, root, root)
        assert isinstance(arguments, Mapping)
        return replace(tool_request, arguments=arguments)

    return replace(answer, tool_requests=tuple(map(with_changes, answer.tool_requests)))


def _other_values(answer: Answer, request: VendorRequest) -> Answer:
    def change(value: JSON, schema: Schema) -> JSON:
        # An enumeration or a pattern allows no other value that is easy to find.
        return value if "enum" in schema or "pattern" in schema else _other(value)

    return _change_values(answer, change)


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


def _break_enums(answer: Answer, request: VendorRequest) -> Answer:
    return _change_values(answer, lambda value, schema: "unlisted" if "enum" in schema else value)


def _break_prompted_enums(answer: Answer, request: VendorRequest) -> Answer:
    return _break_enums(answer, request) if answer.prompted else answer


def _break_patterns(answer: Answer, request: VendorRequest) -> Answer:
    return _change_values(
        answer, lambda value, schema: str(value).lower() if "pattern" in schema else value
    )


def _cut_long_texts(answer: Answer, request: VendorRequest) -> Answer:
    return _change_values(
        answer, lambda value, schema: value[:LONG_TEXT] if isinstance(value, str) else value
    )


def _keep_two_calls(answer: Answer, request: VendorRequest) -> Answer:
    return replace(answer, tool_requests=answer.tool_requests[:2])


def _call_neighbour(answer: Answer, request: VendorRequest) -> Answer:
    """Call the next of the tools that take the same arguments."""

    def neighbour(tool_request: ToolRequest) -> ToolRequest:
        needed = required(tool_request.tool.schema or {})
        alike = [tool for tool in request.call.tools if required(tool.schema or {}) == needed]
        place = [tool.name for tool in alike].index(tool_request.tool.name)
        return replace(tool_request, tool=alike[(place + 1) % len(alike)])

    return replace(answer, tool_requests=tuple(map(neighbour, answer.tool_requests)))


def _has_results(request: VendorRequest) -> bool:
    return any(turn.results for turn in request.call.turns)


def _forget_answer(answer: Answer, request: VendorRequest) -> Answer:
    is_last = _has_results(request) and not answer.tool_requests
    return replace(answer, text=PROSE) if is_last else answer


def _stop_after_results(answer: Answer, request: VendorRequest) -> Answer:
    if not _has_results(request) or not answer.tool_requests:
        return answer
    return replace(answer, text=PROSE, tool_requests=())


def _ignore_text_results(answer: Answer, request: VendorRequest) -> Answer:
    if answer.prompted is None or answer.tool_requests:
        return answer
    return replace(answer, text=PROSE)


def _ignore_system(answer: Answer, request: VendorRequest) -> Answer:
    turns = tuple(turn for turn in request.call.turns if turn.role is not Role.SYSTEM)
    return answer_request(replace(request.call, turns=turns))


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
    _fault("nested-enum", "a value that no enumeration lists", ChangesAnswer(_break_enums)),
    _fault(
        "prompted-enum",
        "a value that no enumeration lists, in a prompted call",
        ChangesAnswer(_break_prompted_enums),
    ),
    _fault("pattern-broken", "a text that its pattern excludes", ChangesAnswer(_break_patterns)),
    _fault("cuts-long-text", "texts of 2,000 characters at most", ChangesAnswer(_cut_long_texts)),
    _fault("two-calls", "two calls where more are asked for", ChangesAnswer(_keep_two_calls)),
    _fault("neighbour-tool", "a call of a similar tool", ChangesAnswer(_call_neighbour)),
    _fault(
        "forgets-answer",
        "the answer after the last result says nothing of it",
        ChangesAnswer(_forget_answer),
    ),
    _fault(
        "stops-after-result",
        "prose after a result, where another call is owed",
        ChangesAnswer(_stop_after_results),
    ),
    _fault(
        "ignores-text-results",
        "no use of results that are text",
        ChangesAnswer(_ignore_text_results),
    ),
    _fault("ignores-system", "no system message is followed", ChangesAnswer(_ignore_system)),
    _fault("refuses-parallel-off", "400 for parallel_tool_calls", RefusesParallelOff()),
)
SELFCHECK_FAULTS: Mapping[str, Fault] = MappingProxyType(
    {**FAULTS, **{fault.name: fault for fault in SUITE_FAULTS}}
)
