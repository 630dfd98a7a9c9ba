"""What one model turn that owes a call amounts to: its calls, what is wrong with it, its trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from probes.call_arguments import validate_arguments
from probes.messages import (
    JSON,
    Breakage,
    BrokenCall,
    Part,
    Reasoning,
    Reply,
    Stop,
    Text,
    ToolCall,
    ToolSpec,
)
from probes.outcomes import Finding, FindingKind, Metric, Verdict
from probes.text_answer import TextAnswer, read_text_answer

# The kinds of broken calls that could be read, and broke their tool's schema.
_UNFIT = (Breakage.SCHEMA_MISMATCH, Breakage.UNKNOWN_TOOL)


@dataclass(frozen=True, slots=True)
class JudgedTurn:
    """One turn. `calls` are those of the wire, or where it has none those found in the text."""

    reply: Reply
    calls: tuple[ToolCall, ...]
    unread: tuple[Finding, ...]  # why a call could not be read from the wire
    unfit: tuple[Finding, ...]  # how calls break their schemas
    stray: tuple[Finding, ...]  # a call that stands in the text as well
    verdicts: tuple[Verdict, ...]
    format: str | None  # the wire format, the text parser, or None where there is no call

    @property
    def faults(self) -> tuple[Finding, ...]:
        return self.unread + self.unfit + self.stray

    @property
    def is_prose(self) -> bool:
        """Whether the turn shows no trace of a call."""
        leaks = any(fault.kind is FindingKind.LEAKED_CALL for fault in self.faults)
        return not (self.calls or self.reply.broken or leaks)

    @property
    def as_history_reply(self) -> Reply:
        """The reply for the history: calls that stood in the text take the text's place.

        A call that could not be read is left out, since no format can carry it back.
        """
        if not self.calls or self.reply.calls:
            sendable = tuple(p for p in self.reply.parts if not isinstance(p, BrokenCall))
            return replace(self.reply, parts=sendable)
        kept: tuple[Part, ...] = tuple(p for p in self.reply.parts if isinstance(p, Reasoning))
        return replace(self.reply, parts=(*kept, *self.calls), stop=Stop.TOOL_CALLS)


def judge_turn(reply: Reply, tools: Sequence[ToolSpec]) -> JudgedTurn:
    """Judge a turn that owes at least one call of the tools."""
    text_answer = _in_text(reply, tools)
    leaked = _leak(text_answer)
    broken = tuple(Finding(FindingKind(c.kind), c.error, c.path) for c in reply.broken)
    # A call that stands in the text as well was read all the same.
    unread, stray = broken, leaked[:1]
    if not reply.calls and not reply.broken:
        unread, stray = (leaked[0] if leaked else _absence(reply),), ()
    calls = reply.calls or text_answer.calls
    unfit = _unfit(calls, tools)
    silent = bool(reply.reasoning) and not (reply.text or reply.calls or reply.broken)
    parser = _parser(text_answer) if leaked and not reply.calls else ""
    verdicts = (
        Verdict(Metric.PARSE_SUCCESS, not unread, parser),
        Verdict(Metric.LEAK, not leaked),
        Verdict(Metric.REASONING_ONLY, not silent),
        *(
            Verdict(metric, not faults)
            for faults in unfit
            for metric in (Metric.SCHEMA_FAILURE, Metric.UNSAFE_BLOCKED)
        ),
        *(
            Verdict(metric, good=False)
            for call in text_answer.broken
            if not reply.calls and call.kind in _UNFIT
            for metric in (Metric.SCHEMA_FAILURE, Metric.UNSAFE_BLOCKED)
        ),
    )
    name = calls[0].format if reply.calls else parser or None
    wrong = tuple(fault for findings in unfit for fault in findings)
    return JudgedTurn(reply, calls, unread, wrong, stray, verdicts, name)


def find_wrong_values(
    calls: Sequence[ToolCall], wanted: Sequence[tuple[str, Mapping[str, JSON]]]
) -> tuple[Finding, ...]:
    """Calls that are not the ones asked for, in any order: missing, surplus, or other values."""
    left = list(calls)
    faults: list[Finding] = []
    for name, arguments in wanted:
        match = next((c for c in left if c.name == name and _same(c.input, arguments)), None)
        match = match or next((call for call in left if call.name == name), None)
        if match is None:
            faults.append(Finding(FindingKind.NO_CALL, f"The call of {name} is missing."))
            continue
        left.remove(match)
        faults += _differences(match, arguments, f"$.calls[{calls.index(match)}]")
    faults += [
        Finding(FindingKind.EXTRA_CALL, f"{call.name} was called, which was not asked for.", "$")
        for call in left
    ]
    return tuple(faults)


def _differences(call: ToolCall, arguments: Mapping[str, JSON], at: str) -> list[Finding]:
    names = [*arguments, *(name for name in call.input if name not in arguments)]
    return [
        Finding(
            FindingKind.WRONG_VALUE,
            f"{name} should be {arguments.get(name)!r} and is {call.input.get(name)!r}.",
            f"{at}.input.{name}",
        )
        for name in names
        if not _equal(call.input.get(name), arguments.get(name))
    ]


def _same(actual: Mapping[str, JSON], wanted: Mapping[str, JSON]) -> bool:
    return actual.keys() == wanted.keys() and all(_equal(actual[k], wanted[k]) for k in wanted)


def _equal(actual: JSON, wanted: JSON) -> bool:
    # To Python True is 1, to a tool it is not.
    return actual == wanted and isinstance(actual, bool) == isinstance(wanted, bool)


def _in_text(reply: Reply, tools: Sequence[ToolSpec]) -> TextAnswer:
    """The calls that stand in the visible text, or where there are none, in the reasoning."""
    truncated = reply.stop is Stop.LENGTH
    texts = [part.text for part in reply.parts if isinstance(part, Text)]
    text_answer = read_text_answer(texts, tools, truncated=truncated)
    if text_answer.calls or text_answer.broken or not reply.reasoning:
        return text_answer
    return read_text_answer([reply.reasoning], tools)


def _leak(text_answer: TextAnswer) -> tuple[Finding, ...]:
    leaked: Sequence[ToolCall | BrokenCall] = (*text_answer.calls, *text_answer.broken)
    return tuple(
        Finding(
            FindingKind.LEAKED_CALL,
            f"The call leaked into the text, in the {call.format} format.",
            "$.text",
        )
        for call in leaked
    )


def _parser(text_answer: TextAnswer) -> str:
    return text_answer.calls[0].format if text_answer.calls else ""


def _absence(reply: Reply) -> Finding:
    if reply.stop is Stop.LENGTH:
        return Finding(FindingKind.NO_CALL, "The answer ran into the token limit before any call.")
    if reply.reasoning and not reply.text:
        message = "The model only reasoned: neither text nor a call came out."
        return Finding(FindingKind.REASONING_ONLY, message)
    if not reply.text:
        return Finding(FindingKind.NO_CALL, "The answer is empty: no text and no call.")
    return Finding(FindingKind.NO_CALL, "The model answered in prose instead of calling the tool.")


def _unfit(calls: Sequence[ToolCall], tools: Sequence[ToolSpec]) -> list[tuple[Finding, ...]]:
    """For each call, every way in which it breaks its tool's schema."""
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
