from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from probes.dialects import ReplayRule
from probes.history.call_closure import check_closure
from probes.history.reasoning_replay import is_question, last_question
from probes.history.trimming import TrimBudget, trim_turns
from probes.messages import Role, Text, Turn
from tests.probes.history.strategies import any_turns, closed_turns
from tests.probes.history.turn_builders import ASK, NEXT, answer, call, result, thought, tool

SYSTEM = Turn(Role.SYSTEM, (Text("Be good."),))
CHAIN = [
    SYSTEM,
    ASK,
    answer(thought("one"), call()),
    tool(result()),
    answer(Text("Done.")),
    NEXT,
    answer(thought("two"), call("b")),
    tool(result("b")),
]


def test_z11_the_cut_is_at_a_question() -> None:
    """A history that begins with a call is refused; of six turns only four fit."""
    trimmed = trim_turns(CHAIN, TrimBudget(6))

    assert trimmed.turns == (SYSTEM, *CHAIN[5:])
    assert (trimmed.dropped, trimmed.cost, trimmed.fits) == (4, 4, True)


def test_a_history_within_the_budget_is_left_alone() -> None:
    """Nothing is dropped unnecessarily."""
    trimmed = trim_turns(CHAIN, TrimBudget(8), rule=ReplayRule.SIGNATURE)

    assert trimmed.turns == tuple(CHAIN)
    assert (trimmed.dropped, trimmed.fits, trimmed.voids_signatures) == (0, True, False)


def test_the_last_question_stays_even_where_it_is_too_much() -> None:
    """And `fits` is False."""
    trimmed = trim_turns(CHAIN, TrimBudget(1))

    assert trimmed.turns == (SYSTEM, *CHAIN[5:])
    assert not trimmed.fits


def test_tokens_are_counted_by_the_callers_rule() -> None:
    """The cost function also applies to system turns."""
    cost = {id(turn): 10 * index for index, turn in enumerate(CHAIN)}

    trimmed = trim_turns(CHAIN, TrimBudget(180, lambda turn: cost[id(turn)]))

    assert trimmed.turns == (SYSTEM, *CHAIN[5:])
    assert trimmed.cost == 180


def test_system_turns_may_be_given_up() -> None:
    """Only if the caller says so."""
    assert trim_turns(CHAIN, TrimBudget(3), keep_system=False).turns == tuple(CHAIN[5:])


def test_z11_no_cut_parts_a_late_result_from_its_call() -> None:
    """A question inside an open chain is no place to cut."""
    turns = [ASK, answer(call()), answer(Text("Wait.")), NEXT, tool(result()), answer(Text("So."))]

    trimmed = trim_turns(turns, TrimBudget(3))

    assert trimmed.turns == tuple(turns)
    assert not trimmed.fits


def test_z69_cutting_before_signed_blocks_is_said() -> None:
    """Remaining signatures may cover the removed turns."""
    assert trim_turns(CHAIN, TrimBudget(5), rule=ReplayRule.SIGNATURE).voids_signatures
    assert not trim_turns(CHAIN, TrimBudget(5), rule=ReplayRule.ALL_TURNS).voids_signatures


budgets = st.integers(0, 12).map(TrimBudget)


@given(closed_turns(), budgets)
def test_a_closed_history_stays_closed(turns: list[Turn], budget: TrimBudget) -> None:
    """Trimming never separates a result from its call."""
    assert check_closure(trim_turns(turns, budget).turns) == []


@given(any_turns, budgets, st.booleans())
def test_the_last_question_and_all_behind_it_stay(
    turns: list[Turn], budget: TrimBudget, keep_system: bool
) -> None:
    """Whatever the budget; the remaining turns are an unchanged suffix."""
    trimmed = trim_turns(turns, budget, keep_system=keep_system).turns
    remaining = [turn for turn in trimmed if not (keep_system and turn.role is Role.SYSTEM)]
    before = [turn for turn in turns if not (keep_system and turn.role is Role.SYSTEM)]

    assert remaining == before[len(before) - len(remaining) :]
    assert trimmed[len(trimmed) - (len(turns) - max(last_question(turns), 0)) :] == tuple(
        turns[max(last_question(turns), 0) :]
    )


@given(any_turns, budgets)
def test_a_trimmed_history_begins_with_a_question(turns: list[Turn], budget: TrimBudget) -> None:
    """Gemini and others require a user turn first."""
    trimmed = trim_turns(turns, budget)
    rest = [turn for turn in trimmed.turns if turn.role is not Role.SYSTEM]

    if trimmed.dropped:
        assert is_question(rest[0])


@given(closed_turns(), budgets)
def test_fits_says_whether_the_rest_is_within_the_budget(
    turns: list[Turn], budget: TrimBudget
) -> None:
    """The cost is that of the returned turns, and a larger budget keeps no less."""
    trimmed = trim_turns(turns, budget)

    assert trimmed.cost == len(trimmed.turns)
    assert trimmed.fits == (len(trimmed.turns) <= budget.limit)
    assert len(trim_turns(turns, TrimBudget(budget.limit + 1)).turns) >= len(trimmed.turns)
