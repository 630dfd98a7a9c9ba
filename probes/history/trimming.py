"""Trims a history to a budget, only where a user turn begins."""

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
    """The budget: a number of turns, or of whatever `cost` counts, such as tokens."""

    limit: int
    cost: Callable[[Turn], int] = lambda turn: 1


@dataclass(frozen=True, slots=True)
class TrimmedTurns:
    """The remaining turns. `fits` False: even the last question and its answers exceed the budget.

    `voids_signatures`: removed turns came before blocks whose signatures may cover them.
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

    Whole turns are kept or dropped, so that kept turns keep the reasoning that the rule requires.
    The last question and everything after it always stay, and no result is separated from its call.
    """
    costs = [budget.cost(turn) for turn in turns]
    system = [keep_system and turn.role is Role.SYSTEM for turn in turns]
    costs_after = _suffix_sums(costs)
    system_costs = [
        0,
        *accumulate(cost if is_kept else 0 for cost, is_kept in zip(costs, system, strict=True)),
    ]
    cuts = _cuts(turns)
    cut = next(
        (cut for cut in cuts if system_costs[cut] + costs_after[cut] <= budget.limit), cuts[-1]
    )
    kept_turns = tuple(turn for index, turn in enumerate(turns) if index >= cut or system[index])
    total = system_costs[cut] + costs_after[cut]
    dropped = len(turns) - len(kept_turns)
    voids = dropped > 0 and rule is ReplayRule.SIGNATURE
    return TrimmedTurns(kept_turns, dropped, total, total <= budget.limit, voids)


def _suffix_sums(costs: Sequence[int]) -> list[int]:
    sums = [*accumulate(reversed(costs), initial=0)]
    return sums[::-1]


def _cuts(turns: Sequence[Turn]) -> list[int]:
    """Where the history may begin: at its start, or at a question that no result pair spans."""
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
