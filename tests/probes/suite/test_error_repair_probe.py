from __future__ import annotations

import json
import random

import pytest

from probes.messages import BrokenCall, Reply, Role, Stop
from probes.outcomes import FindingKind
from probes.suite.base import DrawnValues
from probes.suite.error_repair_probe import ERROR, ERROR_REPAIR, MAX_TRIES
from tests.probes.suite.script_player import (
    ScriptedAnswer,
    call,
    calls,
    play,
    prose,
    refusal,
    thought,
)

LEAKED = "leaked_call"
DRAWN = DrawnValues({"path": "/data/amber/cedar-1.txt"})
WRONG = calls(call("probe_fail_once", {"path": "/data/amber/cedar-1.txt"}))
RIGHT = calls(call("probe_fail_once", {"path": "/safe/amber/cedar-1.txt"}, "c2"))


def test_a_call_that_follows_the_error_passes() -> None:
    """The error is returned in its structured form under the id of its call."""
    played = play(ERROR_REPAIR, DRAWN, WRONG, RIGHT)

    assert (played.outcome, played.kinds, played.facts["tries"]) == ("pass", [], 1)
    assert played.trials["repair_success"] == [True]
    assert played.trials["parse_success"] == [True, True]
    turn = played.call("after error 1").turns[-1]
    (result,) = turn.results
    assert (turn.role, result.call_id, result.is_error) == (Role.TOOL, "c1", True)
    assert json.loads(result.content) == dict(ERROR)


@pytest.mark.parametrize("tries", range(2, MAX_TRIES + 1))
def test_a_later_correction_is_counted_and_fails(tries: int) -> None:
    """Only the next call after the first error is a trial; the number of tries is a fact."""
    played = play(ERROR_REPAIR, DRAWN, *[WRONG] * tries, RIGHT)

    assert (played.outcome, played.kinds) == ("fail", ["not_repaired"])
    assert (played.facts["tries"], played.trials["repair_success"]) == (tries, [False])


def test_a_call_that_is_never_corrected_is_given_up() -> None:
    """After the maximum number of errors the script ends."""
    played = play(ERROR_REPAIR, DRAWN, *[WRONG] * (MAX_TRIES + 1))

    assert (played.outcome, played.kinds) == ("fail", ["not_repaired"])
    assert (played.facts["tries"], played.trials["repair_success"]) == (None, [False])


def test_a_correction_that_breaks_the_schema_is_none() -> None:
    """The right path with a surplus argument cannot be run."""
    surplus = call("probe_fail_once", {"path": "/safe/x", "force": True}, "c2")

    played = play(ERROR_REPAIR, DRAWN, WRONG, calls(surplus), RIGHT)

    assert played.kinds == ["schema_mismatch", "not_repaired"]
    assert (played.facts["tries"], played.trials["repair_success"]) == (2, [False])


@pytest.mark.parametrize(
    "reply", [prose("I am sorry."), Reply((), Stop.END), Reply((thought(),), Stop.END)]
)
def test_an_end_without_a_call_repairs_nothing(reply: Reply) -> None:
    """Giving up is no correction and ends the script; it is no parse failure."""
    played = play(ERROR_REPAIR, DRAWN, WRONG, reply)

    assert played.kinds == ["not_repaired"]
    assert (played.facts["tries"], played.trials["repair_success"]) == (None, [False])
    assert played.trials["parse_success"] == [True]


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply((BrokenCall("{", "bad"),), Stop.TOOL_CALLS), "invalid_json"),
        (prose('<tool_call>{"name": "probe_fail_once", "arguments": {{'), LEAKED),
    ],
)
def test_a_lost_call_after_an_error_is_a_failure_to_read(reply: Reply, kind: str) -> None:
    """A broken call and leaked markup are traces of a call that did not arrive."""
    played = play(ERROR_REPAIR, DRAWN, WRONG, reply)

    assert played.kinds == [kind, "not_repaired"]
    assert played.trials["parse_success"] == [True, False]


def test_a_model_that_corrects_before_any_error_proves_nothing() -> None:
    """A wrong value, but no trial and no fact."""
    played = play(ERROR_REPAIR, DRAWN, RIGHT)

    assert (played.outcome, played.kinds) == ("fail", ["wrong_value"])
    assert "repair_success" not in played.trials
    assert "tries" not in played.facts


def test_without_a_first_call_there_is_no_error_to_feed_back() -> None:
    """The script ends with the missing call."""
    played = play(ERROR_REPAIR, DRAWN, prose())

    assert played.kinds == ["no_call"]
    assert "repair_success" not in played.trials
    assert "tries" not in played.facts


def test_every_call_of_a_turn_gets_the_error() -> None:
    """Two calls get two results; otherwise the history would be open."""
    twice = calls(*WRONG.parts, call("probe_fail_once", {"path": "/data/x"}, "c9"))

    played = play(ERROR_REPAIR, DRAWN, twice, RIGHT)

    ids = [result.call_id for result in played.call("after error 1").turns[-1].results]
    assert ids == ["c1", "c9"]


def test_one_wrong_call_beside_a_right_one_is_not_repaired() -> None:
    """All calls must follow the error."""
    both = calls(*RIGHT.parts, call("probe_fail_once", {"path": "/data/x"}, "c9"))

    played = play(ERROR_REPAIR, DRAWN, WRONG, both, RIGHT)

    assert played.facts["tries"] == 2


@pytest.mark.parametrize(
    ("reply", "outcome", "closed"),
    [
        (refusal(FindingKind.CLOSURE_ORPHAN), "fail", [False]),
        (refusal(FindingKind.PROVIDER_ERROR), "void", None),
    ],
)
def test_a_refused_error_result_is_no_trial_of_repair(
    reply: ScriptedAnswer, outcome: str, closed: list[bool] | None
) -> None:
    """The model never saw the error."""
    played = play(ERROR_REPAIR, DRAWN, WRONG, reply)

    assert played.outcome == outcome
    assert played.trials.get("closure_error") == closed
    assert "repair_success" not in played.trials
    assert "tries" not in played.facts


def test_drawn_paths_are_wrong_until_corrected() -> None:
    """Every drawn path violates the rule that the error states."""
    for seed in range(50):
        values = ERROR_REPAIR.draw(random.Random(seed))
        assert not str(values.values["path"]).startswith("/safe/")
