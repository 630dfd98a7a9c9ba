"""Puts system text where an endpoint accepts it, by the measured `system_position`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from probes.history.request_changes import Change, ChangeKind
from probes.messages import Part, Role, Text, Turn

# The positions at which system text after the first turn is refused, unread or not to be relied on.
ONLY_FIRST = frozenset({"first_only", "ignored", "unsettled"})
SEPARATOR = "\n\n"


@dataclass(frozen=True, slots=True)
class PlacedTurns:
    """The turns with system text where it works, and every change."""

    turns: tuple[Turn, ...]
    changes: tuple[Change, ...]


def place_system_turns(turns: Sequence[Turn], position: str) -> PlacedTurns:
    """One system turn at the beginning, in the order of the texts, if the endpoint needs that.

    Strict chat templates refuse a system message after a user's, and a second one at the beginning.
    """
    system = [(index, turn) for index, turn in enumerate(turns) if turn.role is Role.SYSTEM]
    is_placed = [index for index, _ in system] in ([], [0])
    if position not in ONLY_FIRST or is_placed:
        return PlacedTurns(tuple(turns), ())
    first = _first_other(turns)
    changes = [_moved(index) if index > first else _merged(index) for index, _ in system[1:]]
    if system[0][0] > first:
        changes.insert(0, _moved(system[0][0]))
    merged = replace(
        system[0][1], parts=_joined([part for _, turn in system for part in turn.parts])
    )
    others = [turn for turn in turns if turn.role is not Role.SYSTEM]
    return PlacedTurns((merged, *others), tuple(changes))


def _first_other(turns: Sequence[Turn]) -> int:
    """The index of the first turn that is not the system's."""
    others = (index for index, turn in enumerate(turns) if turn.role is not Role.SYSTEM)
    return next(others, len(turns))


def _moved(index: int) -> Change:
    message = "System text inside the conversation moves to its beginning."
    return Change(ChangeKind.SYSTEM_MOVED, message, f"$.turns[{index}]")


def _merged(index: int) -> Change:
    message = "Several system messages at the beginning become one."
    return Change(ChangeKind.SYSTEM_MERGED, message, f"$.turns[{index}]")


def _joined(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The texts as one, unless one of them has fields of its own, such as a mark for a cache."""
    texts = [part.text for part in parts if isinstance(part, Text) and not part.extra]
    return (Text(SEPARATOR.join(texts)),) if len(texts) == len(parts) else tuple(parts)
