from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from probes.parsers.base import RawCall


@dataclass(frozen=True, slots=True)
class VisibleText:
    """Visible text, verbatim."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningText:
    """Reasoning, verbatim. `complete` is True where its closing tag stands right behind it."""

    text: str
    complete: bool = False


TextItem: TypeAlias = VisibleText | ReasoningText | RawCall


def merge_items(items: Iterable[TextItem]) -> list[TextItem]:
    """The same list with adjacent texts and adjacent pieces of one reasoning made one."""
    groups: list[list[TextItem]] = []
    for item in items:
        if groups and _joins(groups[-1][-1], item):
            groups[-1].append(item)
        else:
            groups.append([item])
    return [_join(group) for group in groups]


def _joins(last: TextItem, item: TextItem) -> bool:
    match last, item:
        case VisibleText(), VisibleText():
            return True
        case ReasoningText(complete=False), ReasoningText():
            return True
        case _:
            return False


def _join(group: list[TextItem]) -> TextItem:
    last = group[-1]
    if isinstance(last, RawCall) or len(group) == 1:
        return last
    text = "".join(item.text for item in group if not isinstance(item, RawCall))
    return (
        VisibleText(text) if isinstance(last, VisibleText) else ReasoningText(text, last.complete)
    )
