"""Locates findings in the raw text of replies.

A finding has a path into the parsed reply and a message that may quote it. Both give snippets,
most specific first; the first snippet that occurs in a reply is the location.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.runs.exchange import string_fragments
from dashboard.runs.exchange.conversation_view import ParsedExchange
from dashboard.runs.exchange.string_fragments import JoinedField

_MIN_LENGTH = 3
_MAX_LENGTH = 2000
_CALL_PATH = re.compile(r"\$\.calls\[(\d{1,4})\](.*)", re.DOTALL)
_PATH_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d{1,6})\]")
_QUOTED = re.compile(r"'([^']{3,300})'|\"([^\"]{3,300})\"")
# These findings are about something missing, so there is nothing to point at.
ABSENT = frozenset({"no_call", "reasoning_only", "result_unused"})


@dataclass(frozen=True, slots=True)
class Location:
    """The exchange and the spans of its reply's text that show a finding."""

    exchange: int
    spans: tuple[tuple[int, int], ...]


def locate_findings(
    findings: Sequence[Mapping[str, Any]], exchanges: Sequence[ParsedExchange]
) -> list[Location | None]:
    """The location of each finding, or None."""
    texts = [_ReplyText.from_exchange(each) for each in exchanges if each.exchange.reply]
    return [_locate_finding(finding, texts) for finding in findings]


@dataclass(frozen=True, slots=True)
class _ReplyText:
    parsed: ParsedExchange
    raw: str
    fields: list[JoinedField]

    @classmethod
    def from_exchange(cls, parsed: ParsedExchange) -> _ReplyText:
        assert parsed.exchange.reply is not None
        raw = parsed.exchange.reply.text
        return cls(parsed, raw, string_fragments.join_fields(raw))


def _locate_finding(finding: Mapping[str, Any], texts: Sequence[_ReplyText]) -> Location | None:
    # The best snippet of every exchange comes before the second best of any. Findings about the
    # calls as a whole come from the end of a script, so the last exchange goes first.
    ordered = texts[::-1] if finding.get("path") == "$.calls" else texts
    candidates = [
        (rank, text, snippet)
        for text in ordered
        for rank, snippet in _candidate_snippets(finding, text.parsed)
        if _MIN_LENGTH <= len(snippet) <= _MAX_LENGTH
    ]
    for _, text, snippet in sorted(candidates, key=lambda candidate: candidate[0]):
        if spans := string_fragments.find_snippet(text.raw, text.fields, snippet):
            return Location(text.parsed.exchange.number, tuple(spans))
    return None


def _candidate_snippets(
    finding: Mapping[str, Any], parsed: ParsedExchange
) -> Iterator[tuple[int, str]]:
    """Snippets to look for in a reply, each with its rank; a lower rank is more specific."""
    path, message = str(finding.get("path", "")), str(finding.get("message", ""))
    if finding.get("kind") not in ABSENT:
        yield from ((0, snippet) for snippet in _call_snippets(parsed, path, message))
        yield from ((1, snippet) for snippet in _text_snippets(parsed, path))
    # An error message ends with the vendor's own text.
    yield 2, message
    yield 2, message.partition(": ")[2]
    yield from ((3, one or other) for one, other in reversed(_QUOTED.findall(message)))
    if path.startswith(("$.calls", "$.text")):
        return
    if names := [step for step in _parse_path(path) if isinstance(step, str)]:
        yield 4, json.dumps(names[-1])


def _call_snippets(parsed: ParsedExchange, path: str, message: str) -> Iterator[str]:
    calls = parsed.exchange.calls
    if path == "$.calls":
        yield from (str(call.get("raw", "")) for call in calls)
    match = _CALL_PATH.match(path)
    if match is None or int(match[1]) >= len(calls):
        return
    call, rest = calls[int(match[1])], match[2]
    if rest.startswith(".name"):
        yield json.dumps(call.get("name", ""), ensure_ascii=False)
    elif steps := _parse_path(rest.removeprefix(".input")):
        value = _value_at(call.get("input"), steps)
        if "should be" in message and f"is {value!r}" not in message:
            return  # another exchange's call has the value that the message quotes
        yield from _json_spellings(value, steps[-1])
    yield str(call.get("raw", ""))


def _text_snippets(parsed: ParsedExchange, path: str) -> Iterator[str]:
    if path != "$.text" or parsed.reply is None:
        return
    yield from parsed.markup
    yield parsed.reply.text or ""


def _value_at(value: Any, steps: Sequence[str | int]) -> Any:
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _json_spellings(value: Any, step: str | int) -> Iterator[str]:
    """The ways a value may be written in JSON, with its key if it has one."""
    for ascii_only in (False, True):
        encoded = json.dumps(value, ensure_ascii=ascii_only)
        if isinstance(step, str):
            name = json.dumps(step, ensure_ascii=ascii_only)
            yield from (f"{name}:{encoded}", f"{name}: {encoded}")
        else:
            yield encoded
    if isinstance(value, str):
        yield value


def _parse_path(path: str) -> list[str | int]:
    return [name or int(index) for name, index in _PATH_STEP.findall(path)]
