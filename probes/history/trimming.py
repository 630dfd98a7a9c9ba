"""A history cut to a budget, only where a user begins to speak."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from probes.dialects.base import ReplayRule
from probes.history.pairing import pair_results
from probes.history.reasoning_replay import is_question
from probes.messages import Role, Turn


@dataclass(frozen=True, slots=True)
class TrimBudget:
    """How much may be sent: turns, or whatever `cost` counts, such as tokens."""

    limit: int
    cost: Callable[[Turn], int] = lambda turn: 1


@dataclass(frozen=True, slots=True)
class TrimmedTurns:
    """What is left. `fits` False: even the last question with what followed is too much.

    `voids_signatures`: what was cut stood before blocks whose signatures may cover it.
    """

    turns: tuple[Turn, ...]
    dropped: int
    cost: int
    fits: bool
    voids_signatures: bool = False


def trim_turns(
    turns: Sequence[Turn],
    budget: TrimBudget,
    *,
    rule: ReplayRule = ReplayRule.NONE,
    keep_system: bool = True,
) -> TrimmedTurns:
    """Drop the oldest questions with everything that followed them, until the rest fits.

    Whole turns go or stay, so that what stays keeps its reasoning as the rule wants it. The last
    question and all behind it always stay, and no result is parted from its call.
    """
    costs = [budget.cost(turn) for turn in turns]
    system = [keep_system and turn.role is Role.SYSTEM for turn in turns]
    after = _sums_from_behind(costs)
    head = [0, *accumulate(cost if kept else 0 for cost, kept in zip(costs, system, strict=True))]
    cuts = _cuts(turns)
    cut = next((cut for cut in cuts if head[cut] + after[cut] <= budget.limit), cuts[-1])
    left = tuple(turn for index, turn in enumerate(turns) if index >= cut or system[index])
    total = head[cut] + after[cut]
    dropped = len(turns) - len(left)
    voids = dropped > 0 and rule is ReplayRule.SIGNATURE
    return TrimmedTurns(left, dropped, total, total <= budget.limit, voids)


def _sums_from_behind(costs: Sequence[int]) -> list[int]:
    sums = [*accumulate(reversed(costs), initial=0)]
    return sums[::-1]


def _cuts(turns: Sequence[Turn]) -> list[int]:
    """Where the history may begin: at its start, or at a question that no pair reaches over."""
    pairs = pair_results(turns)
    reach: dict[int, int] = {}
    for call, result in [*pairs.adjacent.items(), *pairs.moved.items()]:
        first, last = sorted((call.turn, result.turn))
        reach[first] = max(reach.get(first, first), last)
    cuts = [0]
    furthest = -1
    for index, turn in enumerate(turns):
        if index > 0 and is_question(turn) and furthest < index:
            cuts.append(index)
        furthest = max(furthest, reach.get(index, index))
    return cuts
