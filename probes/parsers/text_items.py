from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from probes.parsers.base import RawCall


@dataclass(frozen=True, slots=True)
class FoundText:
    """Visible text, verbatim."""

    text: str


@dataclass(frozen=True, slots=True)
class FoundReasoning:
    """Reasoning, verbatim. `complete` is True where its closing tag stands right behind it."""

    text: str
    complete: bool = False


Found: TypeAlias = FoundText | FoundReasoning | RawCall


def merged(found: Iterable[Found]) -> list[Found]:
    """The same list with adjacent texts and adjacent pieces of one reasoning made one."""
    groups: list[list[Found]] = []
    for item in found:
        if groups and _joins(groups[-1][-1], item):
            groups[-1].append(item)
        else:
            groups.append([item])
    return [_join(group) for group in groups]


def _joins(last: Found, item: Found) -> bool:
    match last, item:
        case FoundText(), FoundText():
            return True
        case FoundReasoning(complete=False), FoundReasoning():
            return True
        case _:
            return False


def _join(group: list[Found]) -> Found:
    last = group[-1]
    if isinstance(last, RawCall) or len(group) == 1:
        return last
    text = "".join(item.text for item in group if not isinstance(item, RawCall))
    return FoundText(text) if isinstance(last, FoundText) else FoundReasoning(text, last.complete)
