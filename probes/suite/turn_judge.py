"""Judges one model turn that must have a call: its calls, its faults, its trials."""

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
from probes.parsers.diagnosis.find_markup import find_shown_call
from probes.parsers.markup import UNKNOWN
from probes.text_answer import TextAnswer, read_text_answer

# Characters of leaked markup that a finding quotes.
MAX_EXCERPT = 60
# Kinds of broken calls that could be parsed but violate their tool's schema.
_SCHEMA_BREAKAGES = (Breakage.SCHEMA_MISMATCH, Breakage.UNKNOWN_TOOL)


@dataclass(frozen=True, slots=True)
class JudgedTurn:
    """One turn. `calls` are those on the wire, or if there are none, those in the text."""

    reply: Reply
    calls: tuple[ToolCall, ...]
    unread: tuple[Finding, ...]  # why no call could be read from the wire
    unfit: tuple[Finding, ...]  # schema violations of the calls
    stray: tuple[Finding, ...]  # a call that is in the text as well
    verdicts: tuple[Verdict, ...]
    format: str | None  # the wire format, the text parser, or None without a call

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
        """The reply for the history: calls from the text replace the text.

        A call that could not be read is dropped, because no format can carry it back.
        """
        if not self.calls or self.reply.calls:
            sendable = tuple(p for p in self.reply.parts if not isinstance(p, BrokenCall))
            return replace(self.reply, parts=sendable)
        reasoning: tuple[Part, ...] = tuple(p for p in self.reply.parts if isinstance(p, Reasoning))
        return replace(self.reply, parts=(*reasoning, *self.calls), stop=Stop.TOOL_CALLS)


def judge_turn(reply: Reply, tools: Sequence[ToolSpec]) -> JudgedTurn:
    """Judge a turn that must call at least one of the tools."""
    text_answer = _read_text_calls(reply, tools)
    leaked = _leak_findings(text_answer)
    broken = tuple(Finding(FindingKind(c.kind), c.error, c.path) for c in reply.broken)
    # A call that is in the text as well was still read from the wire.
    unread, stray = broken, leaked[:1]
    if not reply.calls and not reply.broken:
        # Nothing but the diagnosis tells a call in an unknown format from an answer in prose.
        leaked = leaked or _shown_call_findings(reply, tools)
        unread, stray = (leaked[0] if leaked else _no_call_finding(reply),), ()
    calls = reply.calls or text_answer.calls
    unfit = _schema_findings(calls, tools)
    only_reasoned = bool(reply.reasoning) and not (reply.text or reply.calls or reply.broken)
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
            Verdict(metric, good=False)
            for call in text_answer.broken
            if not reply.calls and call.kind in _SCHEMA_BREAKAGES
            for metric in (Metric.SCHEMA_FAILURE, Metric.UNSAFE_BLOCKED)
        ),
    )
    name = calls[0].format if reply.calls else parser or None
    wrong = tuple(fault for findings in unfit for fault in findings)
    return JudgedTurn(reply, calls, unread, wrong, stray, verdicts, name)


def find_wrong_values(
    calls: Sequence[ToolCall], expected: Sequence[tuple[str, Mapping[str, JSON]]]
) -> tuple[Finding, ...]:
    """Calls that differ from the expected ones, in any order: missing, surplus, or other values."""
    remaining = list(calls)
    faults: list[Finding] = []
    for name, arguments in expected:
        match = next((c for c in remaining if c.name == name and _same(c.input, arguments)), None)
        match = match or next((call for call in remaining if call.name == name), None)
        if match is None:
            faults.append(Finding(FindingKind.NO_CALL, f"The call of {name} is missing."))
            continue
        remaining.remove(match)
        faults += _differences(match, arguments, f"$.calls[{calls.index(match)}]")
    faults += [
        Finding(FindingKind.EXTRA_CALL, f"{call.name} was called, which was not asked for.", "$")
        for call in remaining
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


def _same(actual: Mapping[str, JSON], expected: Mapping[str, JSON]) -> bool:
    return actual.keys() == expected.keys() and all(
        _equal(actual[k], expected[k]) for k in expected
    )


def _equal(actual: JSON, expected: JSON) -> bool:
    # True equals 1 in Python, but not for a tool.
    return actual == expected and isinstance(actual, bool) == isinstance(expected, bool)


def _read_text_calls(reply: Reply, tools: Sequence[ToolSpec]) -> TextAnswer:
    """The calls in the visible text, or if there are none, in the reasoning."""
    truncated = reply.stop is Stop.LENGTH
    texts = [part.text for part in reply.parts if isinstance(part, Text)]
    text_answer = read_text_answer(texts, tools, truncated=truncated)
    if text_answer.calls or text_answer.broken or not reply.reasoning:
        return text_answer
    return read_text_answer([reply.reasoning], tools, truncated=truncated)


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


def _no_call_finding(reply: Reply) -> Finding:
    if reply.stop is Stop.LENGTH:
        return Finding(FindingKind.NO_CALL, "The answer ran into the token limit before any call.")
    if reply.reasoning and not reply.text:
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
