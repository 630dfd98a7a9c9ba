"""Judges one model turn that must have a call: its calls, its faults, its trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from probes.call_arguments import validate_arguments
from probes.messages import (
    JSON,
    NOT_STREAMED,
    Breakage,
    BrokenCall,
    Part,
    Reasoning,
    ReasoningKind,
    Reply,
    Stop,
    Text,
    ToolCall,
    ToolSpec,
)
from probes.outcomes import Finding, FindingKind, Metric, Verdict
from probes.parsers.diagnosis.find_markup import find_shown_call
from probes.parsers.markup import CERTAIN, ENVELOPE, SHOWS_CALL, UNKNOWN, MarkupReason
from probes.text_answer import TextAnswer, read_text_answer

# Characters of leaked markup that a finding quotes.
MAX_EXCERPT = 60
# Characters of a value that a finding shows whole.
MAX_SHOWN = 400
SIGNED_KINDS = (ReasoningKind.BLOCK, ReasoningKind.ITEM)
ExpectedCalls: TypeAlias = Sequence[tuple[str, Mapping[str, JSON]]]
# Kinds of broken calls that could be parsed but violate their tool's schema.
_SCHEMA_BREAKAGES = (Breakage.SCHEMA_MISMATCH, Breakage.UNKNOWN_TOOL)


class Arrival(StrEnum):
    """How the calls of a turn arrived."""

    WORKS = "works"  # on the wire, readable, as asked for
    LEAKS = "leaks"  # in the text
    LOSES_CALLS = "loses_calls"  # a call is missing
    GARBLES = "garbles"  # unreadable, or with other arguments
    REFUSED = "refused"  # the request was refused, or its stream was not streamed
    BROKEN_OFF = "broken_off"


@dataclass(frozen=True, slots=True)
class JudgedTurn:
    """One turn. `calls` are those on the wire, or if there are none, those in the text."""

    reply: Reply
    calls: tuple[ToolCall, ...]
    unread: tuple[Finding, ...]  # why no call could be read from the wire
    unfit: tuple[Finding, ...]  # schema violations of the calls
    stray: tuple[Finding, ...]  # a call that is in the text as well
    verdicts: tuple[Verdict, ...]
    # The wire format, also of calls that cannot be read; the text parser; or None without a call.
    format: str | None

    @property
    def faults(self) -> tuple[Finding, ...]:
        return self.unread + self.unfit + self.stray

    @property
    def arrival(self) -> str:
        """An Arrival; for calls that can be read from the text, the name of their parser."""
        kinds = [fault.kind for fault in self.unread]
        if FindingKind.NOT_STREAMED in kinds:
            return Arrival.REFUSED
        if FindingKind.LEAKED_CALL in kinds:
            return self.format or Arrival.LEAKS
        if self.reply.broken or self.unfit:
            return Arrival.GARBLES
        if self.stray:
            return Arrival.LEAKS
        return Arrival.WORKS if self.calls else Arrival.LOSES_CALLS

    @property
    def shown_format(self) -> str | None:
        """The format; for a call in the text that no parser reads, "unknown"."""
        leaks = any(fault.kind is FindingKind.LEAKED_CALL for fault in self.unread)
        return self.format or (UNKNOWN if leaks else None)

    @property
    def arrived(self) -> tuple[ToolCall | BrokenCall, ...]:
        """The calls, and those on the wire that cannot be read."""
        return (*self.calls, *_wire_breakages(self.reply))

    @property
    def is_prose(self) -> bool:
        """Whether the turn shows no trace of a call."""
        leaks = any(fault.kind is FindingKind.LEAKED_CALL for fault in self.faults)
        return not (self.calls or self.reply.broken or leaks)

    @property
    def as_history_reply(self) -> Reply:
        """The reply for the history: calls from the text replace the text.

        A call that could not be read is dropped, because no format can carry it back.
        """
        if not self.calls or self.reply.calls:
            sendable = tuple(p for p in self.reply.parts if not isinstance(p, BrokenCall))
            return replace(self.reply, parts=sendable)
        reasoning: tuple[Part, ...] = tuple(p for p in self.reply.parts if isinstance(p, Reasoning))
        return replace(self.reply, parts=(*reasoning, *self.calls), stop=Stop.TOOL_CALLS)


def judge_turn(reply: Reply, tools: Sequence[ToolSpec]) -> JudgedTurn:
    """Judge a turn that must call at least one of the tools, by the calls on the wire."""
    text_answer, stopped = _read_text_calls(reply, tools)
    leaked = _leak_findings(text_answer)
    broken = tuple(Finding(FindingKind(c.kind), c.error, c.path) for c in reply.broken)
    # A call that is in the text as well was still read from the wire.
    unread, stray = broken, leaked[:1]
    if not reply.calls and not reply.broken:
        # Nothing but the diagnosis tells a call in an unknown format from an answer in prose.
        leaked = leaked or _shown_call_findings(reply, tools)
        unread, stray = (leaked[0] if leaked else _no_call_finding(reply),), ()
    # A client that reads a stream finds no call in a whole answer.
    unread = (*_unstreamed_findings(reply), *unread)
    calls = reply.calls or text_answer.calls
    unfit = _schema_findings(calls, tools)
    only_reasoned = _has_reasoned(reply) and not (reply.text or reply.calls or reply.broken)
    parser = _parser(text_answer) if leaked and not reply.calls else ""
    verdicts = (
        Verdict(Metric.PARSE_SUCCESS, not unread, parser),
        Verdict(Metric.LEAK, not leaked),
        Verdict(Metric.REASONING_ONLY, not only_reasoned),
        *(
            Verdict(metric, not faults)
            for faults in unfit
            for metric in (Metric.SCHEMA_FAILURE, Metric.UNSAFE_BLOCKED)
        ),
        *(
            Verdict(Metric.SCHEMA_FAILURE, good=False)
            for call in text_answer.broken
            if not reply.calls and call.kind in _SCHEMA_BREAKAGES
        ),
        *_stopped_verdicts(reply, stopped),
    )
    on_wire = reply.calls or _wire_breakages(reply)
    name = on_wire[0].format if on_wire else parser or None
    wrong = tuple(fault for findings in unfit for fault in findings)
    return JudgedTurn(reply, calls, unread, wrong, stray, verdicts, name)


def _wire_breakages(reply: Reply) -> tuple[BrokenCall, ...]:
    """The unreadable calls that came as such; a server's report of one has neither name nor id."""
    return tuple(call for call in reply.broken if call.name or call.id)


def find_wrong_order(calls: Sequence[ToolCall], expected: ExpectedCalls) -> tuple[Finding, ...]:
    """Calls that came in another order than the expected ones, of which none is missing."""
    names, wanted = [call.name for call in calls], [name for name, _ in expected]
    if names == wanted or sorted(names) != sorted(wanted):
        return ()
    message = f"The calls came as {', '.join(names)}, and {', '.join(wanted)} was asked for."
    return (Finding(FindingKind.WRONG_ORDER, message, "$.calls"),)


def find_wrong_values(calls: Sequence[ToolCall], expected: ExpectedCalls) -> tuple[Finding, ...]:
    """Calls that differ from the expected ones, in any order: missing, surplus, or other values."""
    pairs, surplus = _pair_calls(calls, expected)
    faults: list[Finding] = []
    for call, (name, arguments) in zip(pairs, expected, strict=True):
        if call is None:
            faults.append(Finding(FindingKind.NO_CALL, f"The call of {name} is missing."))
        else:
            faults += _differences(call, arguments, f"$.calls[{calls.index(call)}]")
    faults += [
        Finding(FindingKind.EXTRA_CALL, f"{call.name} was called, which was not asked for.", "$")
        for call in surplus
    ]
    return tuple(faults)


def value_verdicts(
    calls: Sequence[ToolCall], expected: ExpectedCalls, tools: Sequence[ToolSpec]
) -> tuple[Verdict, ...]:
    """One trial per argument whose exact value was asked for, of calls that fit their schema.

    A value from a closed set (a choice, a boolean, null) is no trial: what damages texts and
    numbers on the way leaves it alone, and it would only dilute the rate.
    """
    schemas = {tool.name: tool.schema or {} for tool in tools}
    pairs, _ = _pair_calls(calls, expected)
    return tuple(
        Verdict(
            Metric.VALUE_FIDELITY, argument in call.input and _equal(call.input[argument], value)
        )
        for call, (name, arguments) in zip(pairs, expected, strict=True)
        if call is not None
        for argument, value in arguments.items()
        if not _is_closed(value, argument, schemas.get(name, {}))
    )


def _pair_calls(
    calls: Sequence[ToolCall], expected: ExpectedCalls
) -> tuple[list[ToolCall | None], list[ToolCall]]:
    """The call of each expected one, None where it is missing, and the surplus calls."""
    remaining, pairs = list(calls), []
    for name, arguments in expected:
        named = [call for call in remaining if call.name == name]
        match = next((call for call in named if _same(call.input, arguments)), None)
        match = match or next(iter(named), None)
        if match is not None:
            remaining.remove(match)
        pairs.append(match)
    return pairs, remaining


def _is_closed(value: JSON, name: str, schema: Mapping[str, JSON]) -> bool:
    properties = schema.get("properties")
    rule = properties.get(name) if isinstance(properties, Mapping) else None
    is_choice = isinstance(rule, Mapping) and ("enum" in rule or "const" in rule)
    return is_choice or value is None or isinstance(value, bool)


def _differences(call: ToolCall, arguments: Mapping[str, JSON], at: str) -> list[Finding]:
    names = [*arguments, *(name for name in call.input if name not in arguments)]
    return [
        Finding(
            FindingKind.WRONG_VALUE,
            _describe_difference(name, call.input.get(name), arguments.get(name)),
            f"{at}.input.{name}",
        )
        for name in names
        if not _equal(call.input.get(name), arguments.get(name))
    ]


def _describe_difference(name: str, actual: JSON, expected: JSON) -> str:
    """Both values; of long texts, the place where they part."""
    if not isinstance(actual, str) or not isinstance(expected, str):
        return f"{name} should be {expected!r} and is {actual!r}."
    if max(len(actual), len(expected)) <= MAX_SHOWN:
        return f"{name} should be {expected!r} and is {actual!r}."
    pairs = enumerate(zip(actual, expected, strict=False))
    at = next((i for i, (a, b) in pairs if a != b), min(len(actual), len(expected)))
    lengths = f"{len(actual)} characters instead of {len(expected)}"
    shown = f"should be {_quote(expected[at:])} and is {_quote(actual[at:])}"
    return f"{name} differs from character {at + 1} on ({lengths}): {shown}."


def _same(actual: Mapping[str, JSON], expected: Mapping[str, JSON]) -> bool:
    return actual.keys() == expected.keys() and all(
        _equal(actual[k], expected[k]) for k in expected
    )


def _equal(actual: JSON, expected: JSON) -> bool:
    # True equals 1 in Python, but not for a tool.
    return actual == expected and isinstance(actual, bool) == isinstance(expected, bool)


def _read_text_calls(reply: Reply, tools: Sequence[ToolSpec]) -> tuple[TextAnswer, int]:
    """The calls in the visible text, or if there are none, in the reasoning.

    And how many calls the parser stopped there. They are taken as written, as those on the wire
    are: a call that only a repair makes fit is a misfit.
    """
    truncated = reply.stop is Stop.LENGTH
    texts = [part.text for part in reply.parts if isinstance(part, Text)]
    visible = read_text_answer(texts, tools, truncated=truncated, as_written=True)
    stopped = _count_stopped(visible, SHOWS_CALL)
    if visible.calls or visible.broken or not reply.reasoning:
        return visible, stopped
    thought = read_text_answer([reply.reasoning], tools, truncated=truncated, as_written=True)
    # A model that reasons may write code; only the markup of a call is a call there.
    return thought, stopped + _count_stopped(thought, ENVELOPE)


def _count_stopped(text_answer: TextAnswer, least: float) -> int:
    """The markup that shows a call which does not run: cut, unreadable, fenced, quoted, unknown."""
    if text_answer.calls:
        # Beside calls that run, only what the parser itself took for a call is another one.
        return sum(item.confidence >= CERTAIN for item in text_answer.markup)
    return sum(
        item.confidence >= least or (item.reason is MarkupReason.QUOTED and item.format != UNKNOWN)
        for item in text_answer.markup
    )


def _stopped_verdicts(reply: Reply, in_text: int) -> tuple[Verdict, ...]:
    """One bad trial for every call that the parser stopped.

    Where calls come on the wire the text is not searched for calls to run.
    """
    stopped = len(reply.broken) if reply.calls or reply.broken else in_text
    return (Verdict(Metric.UNSAFE_BLOCKED, good=False),) * stopped


def _unstreamed_findings(reply: Reply) -> tuple[Finding, ...]:
    if all(deviation.name != NOT_STREAMED for deviation in reply.deviations):
        return ()
    message = "A stream was asked for, and the answer came whole."
    return (Finding(FindingKind.NOT_STREAMED, message),)


def _leak_findings(text_answer: TextAnswer) -> tuple[Finding, ...]:
    leaked: Sequence[ToolCall | BrokenCall] = (*text_answer.calls, *text_answer.broken)
    return tuple(
        Finding(
            FindingKind.LEAKED_CALL,
            f"The call leaked into the text, in the {call.format} format.",
            "$.text",
        )
        for call in leaked
    )


def _shown_call_findings(reply: Reply, tools: Sequence[ToolSpec]) -> tuple[Finding, ...]:
    """A call that the text or the reasoning shows and that cannot be read from it."""
    for text, is_reasoning in ((reply.text, False), (reply.reasoning, True)):
        shown = find_shown_call(text or "", tools, is_reasoning=is_reasoning)
        if text and shown:
            start, end = shown.span
            format = "an unknown" if shown.format == UNKNOWN else f"the {shown.format}"
            excerpt = " ".join(text[start : min(end, start + 2 * MAX_EXCERPT)].split())
            message = f"The call leaked into the text, in {format} format: {_quote(excerpt)}."
            return (Finding(FindingKind.LEAKED_CALL, message, "$.text"),)
    return ()


def _quote(excerpt: str) -> str:
    # repr escapes whatever a terminal or a page might act upon.
    return repr(excerpt if len(excerpt) <= MAX_EXCERPT else f"{excerpt[:MAX_EXCERPT]}…")


def _parser(text_answer: TextAnswer) -> str:
    return text_answer.calls[0].format if text_answer.calls else ""


def _has_reasoned(reply: Reply) -> bool:
    """Whether the answer has reasoning; a signed block is some, also if its text is omitted."""
    reasoning = (part for part in reply.parts if isinstance(part, Reasoning))
    return any(part.text or part.kind in SIGNED_KINDS for part in reasoning)


def _no_call_finding(reply: Reply) -> Finding:
    if reply.stop is Stop.LENGTH:
        return Finding(FindingKind.NO_CALL, "The answer ran into the token limit before any call.")
    if _has_reasoned(reply) and not reply.text:
        message = "The model only reasoned: neither text nor a call came out."
        return Finding(FindingKind.REASONING_ONLY, message)
    if not reply.text:
        return Finding(FindingKind.NO_CALL, "The answer is empty: no text and no call.")
    return Finding(FindingKind.NO_CALL, "The model answered in prose instead of calling the tool.")


def _schema_findings(
    calls: Sequence[ToolCall], tools: Sequence[ToolSpec]
) -> list[tuple[Finding, ...]]:
    """Per call, every violation of its tool's schema."""
    known = {tool.name: tool for tool in tools}
    unfit: list[tuple[Finding, ...]] = []
    for index, call in enumerate(calls):
        at = f"$.calls[{index}]"
        if call.name not in known:
            message = f"The model called {call.name!r}, which was not offered."
            unfit.append((Finding(FindingKind.UNKNOWN_TOOL, message, f"{at}.name"),))
        else:
            schema = known[call.name].schema or {}
            unfit.append(validate_arguments(schema, call.input, at=f"{at}.input"))
    return unfit
