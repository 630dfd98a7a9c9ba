"""Several calls in one turn: of which tools, and how many.

A turn is right if every call that was asked for arrived, of the right tool and under an id of its
own. Two calls settle whether calls can be parallel; questions with more settle how many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from health.capability import (
    UNKNOWN,
    UNSETTLED,
    Capability,
    attempt_ids,
    is_clear,
    settle_booleans,
)
from probes.outcomes import Attempt

PAIR = 2
# Fields that a light run measures in part.
PARALLEL_FIELDS = ("parallel", "parallel_calls")


@dataclass(frozen=True, slots=True)
class ParallelTurn:
    """One turn that was asked for several calls."""

    attempt: Attempt
    asked: int
    is_same_tool: bool
    is_right: bool


def read_parallel_turns(attempts: Sequence[Attempt]) -> list[ParallelTurn]:
    return [turn for attempt in attempts if (turn := _read_turn(attempt)) is not None]


def derive_parallel(attempts: Sequence[Attempt]) -> dict[str, Capability]:
    """The fields that are about several calls in a turn."""
    turns = read_parallel_turns(attempts)
    pairs = [turn for turn in turns if turn.asked == PAIR]
    pooled = settle_booleans([(turn.attempt, turn.is_right) for turn in pairs])
    kinds = _settle_kinds(pairs)
    is_split = len({kind.value for kind in kinds.values()}) > 1
    is_unsettled = any(kind.unsettled for kind in kinds.values())
    supported = None if is_unsettled or is_split else pooled.value
    return {
        "supports_parallel_tool_use": replace(
            pooled, value=supported, unsettled=is_unsettled or is_split
        ),
        "parallel": replace(pooled, value=_name_kinds(kinds), unsettled=is_unsettled),
        "parallel_calls": _most_calls(turns),
    }


def confirms(stored: Mapping[str, Any], measured: Capability) -> bool:
    """Whether a run that asked fewer kinds of questions contradicts nothing that is stored.

    A light run asks for two calls of different tools only. Where they are right, what a full run
    measured about other calls stays.
    """
    asked, known = _probes(measured.evidence), _probes(stored.get("evidence") or ())
    if not asked < known or measured.unsettled or stored.get("unsettled"):
        return False
    value = stored.get("value")
    if isinstance(measured.value, int) and isinstance(value, int):
        return 1 < measured.value <= value
    return measured.value in ("mixed", "same_tool") and value == "any"


def _probes(evidence: Sequence[str]) -> set[str]:
    return {str(id_).rpartition("/")[0] for id_ in evidence}


def _read_turn(attempt: Attempt) -> ParallelTurn | None:
    facts = attempt.facts
    calls, asked = facts.get("calls"), facts.get("asked", PAIR)
    if not isinstance(calls, int) or not isinstance(asked, int):
        return None
    is_same_tool = bool(facts.get("same_tool", attempt.probe == "parallel_same"))
    is_right = facts.get("right", calls >= asked) is True
    return ParallelTurn(
        attempt, asked, is_same_tool, is_right and facts.get("distinct_ids") is not False
    )


def _settle_kinds(pairs: Sequence[ParallelTurn]) -> dict[str, Capability]:
    """Whether pairs of each kind are right, for the kinds that were asked for."""
    kinds = {
        name: settle_booleans([(turn.attempt, turn.is_right) for turn in pairs if of_kind(turn)])
        for name, of_kind in (("same_tool", _is_same), ("mixed", _is_mixed))
    }
    return {name: kind for name, kind in kinds.items() if kind.trials}


def _name_kinds(kinds: Mapping[str, Capability]) -> str:
    if any(kind.unsettled for kind in kinds.values()):
        return UNSETTLED
    good = [name for name, kind in kinds.items() if kind.value is True]
    if good:
        return "any" if len(good) > 1 else good[0]
    return "none" if kinds else UNKNOWN


def _is_same(turn: ParallelTurn) -> bool:
    return turn.is_same_tool


def _is_mixed(turn: ParallelTurn) -> bool:
    return not turn.is_same_tool


def _most_calls(turns: Sequence[ParallelTurn]) -> Capability:
    """The largest number of calls that arrived right in one turn, by a clear majority; else 1."""
    if not turns:
        return Capability(None)
    most, deciding = 1, [turn for turn in turns if turn.asked == min(t.asked for t in turns)]
    for asked in sorted({turn.asked for turn in turns}):
        same = [turn for turn in turns if turn.asked == asked]
        if not is_clear(sum(turn.is_right for turn in same), len(same)):
            break
        most, deciding = asked, same
    agree = sum(turn.is_right is (most > 1) for turn in deciding)
    return Capability(most, len(deciding), agree, attempt_ids(turn.attempt for turn in turns))
