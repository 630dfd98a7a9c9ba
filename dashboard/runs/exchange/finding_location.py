"""Where in the raw reply a finding can be seen.

A finding has a path into what was read and a message that may quote what it found. From both come
snippets, the most telling first; the first that stands in some reply is the place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.runs.exchange import string_fragments
from dashboard.runs.exchange.conversation_view import Read
from dashboard.runs.exchange.string_fragments import Joined

_LEAST = 3
_MOST = 2000
_CALL = re.compile(r"\$\.calls\[(\d{1,4})\](.*)", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d{1,6})\]")
_QUOTED = re.compile(r"'([^']{3,300})'|\"([^\"]{3,300})\"")
# These say that something is not there, so nothing can be pointed at.
ABSENT = frozenset({"no_call", "reasoning_only", "result_unused"})


@dataclass(frozen=True, slots=True)
class Place:
    """The exchange and the parts of its reply's text in which a finding shows."""

    exchange: int
    parts: tuple[tuple[int, int], ...]


def places(findings: Sequence[Mapping[str, Any]], told: Sequence[Read]) -> list[Place | None]:
    """The place of each finding, None where none was found."""
    texts = [_Text.of(read) for read in told if read.exchange.got]
    return [_place(finding, texts) for finding in findings]


@dataclass(frozen=True, slots=True)
class _Text:
    read: Read
    raw: str
    fields: list[Joined]

    @classmethod
    def of(cls, read: Read) -> _Text:
        assert read.exchange.got is not None
        raw = read.exchange.got.text
        return cls(read, raw, string_fragments.joined(raw))


def _place(finding: Mapping[str, Any], texts: Sequence[_Text]) -> Place | None:
    # The best snippet of every exchange comes before the second best of any. What is said of the
    # calls as a whole is said at the end of a script, of what came last.
    ordered = texts[::-1] if finding.get("path") == "$.calls" else texts
    sought = [
        (rank, text, snippet)
        for text in ordered
        for rank, snippet in _snippets(finding, text.read)
        if _LEAST <= len(snippet) <= _MOST
    ]
    for _, text, snippet in sorted(sought, key=lambda each: each[0]):
        if found := string_fragments.find(text.raw, text.fields, snippet):
            return Place(text.read.exchange.number, tuple(found))
    return None


def _snippets(finding: Mapping[str, Any], read: Read) -> Iterator[tuple[int, str]]:
    """What to look for in a reply, and how telling it is: the lower the more."""
    path, message = str(finding.get("path", "")), str(finding.get("message", ""))
    if finding.get("kind") not in ABSENT:
        yield from ((0, snippet) for snippet in _of_call(read, path, message))
        yield from ((1, snippet) for snippet in _of_text(read, path))
    # A vendor's own words, as an error message has them behind ours.
    yield 2, message
    yield 2, message.partition(": ")[2]
    yield from ((3, one or other) for one, other in reversed(_QUOTED.findall(message)))
    if path.startswith(("$.calls", "$.text")):
        return
    if names := [step for step in _steps(path) if isinstance(step, str)]:
        yield 4, json.dumps(names[-1])


def _of_call(read: Read, path: str, message: str) -> Iterator[str]:
    calls = read.exchange.calls
    if path == "$.calls":
        yield from (str(call.get("raw", "")) for call in calls)
    match = _CALL.match(path)
    if match is None or int(match[1]) >= len(calls):
        return
    call, rest = calls[int(match[1])], match[2]
    if rest.startswith(".name"):
        yield json.dumps(call.get("name", ""), ensure_ascii=False)
    elif steps := _steps(rest.removeprefix(".input")):
        value = _at(call.get("input"), steps)
        if "should be" in message and f"is {value!r}" not in message:
            return  # another exchange's call has the value that the message quotes
        yield from _written(value, steps[-1])
    yield str(call.get("raw", ""))


def _of_text(read: Read, path: str) -> Iterator[str]:
    if path != "$.text" or read.reply is None:
        return
    yield from read.markup
    yield read.reply.text or ""


def _at(value: Any, steps: Sequence[str | int]) -> Any:
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _written(value: Any, step: str | int) -> Iterator[str]:
    """How a value may be written, with its name before it where it has one."""
    for ascii_only in (False, True):
        written = json.dumps(value, ensure_ascii=ascii_only)
        if isinstance(step, str):
            name = json.dumps(step, ensure_ascii=ascii_only)
            yield from (f"{name}:{written}", f"{name}: {written}")
        else:
            yield written
    if isinstance(value, str):
        yield value


def _steps(path: str) -> list[str | int]:
    return [name or int(index) for name, index in _STEP.findall(path)]
