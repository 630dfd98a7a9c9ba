"""Where in the raw reply a finding can be seen.

A finding has a path into what was read and a message that may quote what it found. From both come
snippets, the most telling first; the first that stands in some reply is the place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from dashboard.exchanges import fragments
from dashboard.exchanges.fragments import Joined
from dashboard.exchanges.talk import Read

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
        return cls(read, raw, fragments.joined(raw))


def _place(finding: Mapping[str, Any], texts: Sequence[_Text]) -> Place | None:
    # The best snippet of every exchange comes before the second best of any.
    ranked = zip_longest(*(_snippets(finding, text.read) for text in texts))
    for rank in ranked:
        for text, snippet in zip(texts, rank, strict=True):
            if snippet is None or not _LEAST <= len(snippet) <= _MOST:
                continue
            if found := fragments.find(text.raw, text.fields, snippet):
                return Place(text.read.exchange.number, tuple(found))
    return None


def _snippets(finding: Mapping[str, Any], read: Read) -> Iterator[str]:
    """What to look for in a reply, the most telling first."""
    path, message = str(finding.get("path", "")), str(finding.get("message", ""))
    if finding.get("kind") not in ABSENT:
        if match := _CALL.match(path):
            yield from _of_call(read, int(match[1]), match[2], message)
        elif path == "$.calls":
            yield from (str(call.get("raw", "")) for call in read.exchange.calls)
        yield from (call.raw for call in read.leaked_calls)
        if path == "$.text" and read.reply and read.reply.text:
            yield read.reply.text
    # A vendor's own words, as an error message has them behind ours.
    yield message
    yield message.partition(": ")[2]
    yield from (one or other for one, other in reversed(_QUOTED.findall(message)))
    if steps := _steps(path) if not path.startswith(("$.calls", "$.text")) else []:
        yield json.dumps(next((step for step in reversed(steps) if isinstance(step, str)), ""))


def _of_call(read: Read, index: int, rest: str, message: str) -> Iterator[str]:
    calls: Sequence[Mapping[str, Any]] = read.exchange.calls
    if index >= len(calls):
        return
    call = calls[index]
    if rest.startswith(".name"):
        yield json.dumps(call.get("name", ""), ensure_ascii=False)
    elif steps := _steps(rest.removeprefix(".input")):
        yield from _of_value(call.get("input"), steps, message)
    yield str(call.get("raw", ""))


def _of_value(given: Any, steps: Sequence[str | int], message: str) -> Iterator[str]:
    """How the value at a path may be written, with its name before it where it has one."""
    value = given
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return
    if "should be" in message and repr(value) not in message:
        return  # another exchange's call has the value that the message quotes
    for ascii_only in (False, True):
        written = json.dumps(value, ensure_ascii=ascii_only)
        if isinstance(steps[-1], str):
            name = json.dumps(steps[-1], ensure_ascii=ascii_only)
            yield from (f"{name}:{written}", f"{name}: {written}")
        yield written
    if isinstance(value, str):
        yield value


def _steps(path: str) -> list[str | int]:
    return [name or int(index) for name, index in _STEP.findall(path)]
