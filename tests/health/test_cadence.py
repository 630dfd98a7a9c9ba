"""Which run follows a finished one, and how soon."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from health.cadence import (
    DueState,
    EndedRun,
    FinishedRun,
    NextRun,
    NextTrigger,
    WaitTimes,
    back_off,
    plan_after_run,
    plan_next_run,
    suite_for,
)
from health.watch import Watch

TTL, MINUTE = timedelta(hours=6), timedelta(minutes=1)
WAITS = WaitTimes(baseline=7 * MINUTE, confirm=6 * MINUTE)
CALM = FinishedRun(
    suite="light",
    ttl=TTL,
    fingerprint_changed=False,
    onboarding_left=0,
    wants_confirmation=False,
    is_degraded=False,
)


def test_an_ordinary_run_is_followed_by_one_a_ttl_later() -> None:
    """Nothing was found that would want more."""
    assert plan_next_run(CALM, WAITS) == NextRun(NextTrigger.TTL, TTL, 0)


def test_a_warning_is_confirmed_soon() -> None:
    """Before anything else that is only due."""
    warned = replace(CALM, wants_confirmation=True, is_degraded=True, onboarding_left=5)

    assert plan_next_run(warned, WAITS) == NextRun(NextTrigger.CONFIRM, 6 * MINUTE, 4)


def test_an_open_alarm_is_looked_at_four_times_as_often() -> None:
    """Only probes can prove recovery, since live traffic is under the fallback."""
    assert plan_next_run(replace(CALM, is_degraded=True), WAITS) == NextRun(
        NextTrigger.RECOVERY, TTL / 4, 0
    )


@pytest.mark.parametrize(
    ("ttl", "wait"),
    [(60 * MINUTE, 15 * MINUTE), (30 * MINUTE, 15 * MINUTE), (5 * MINUTE, 5 * MINUTE)],
    ids=str,
)
def test_recovery_runs_do_not_crowd_and_are_never_later_than_the_ttl(
    ttl: timedelta, wait: timedelta
) -> None:
    """A quarter of a short TTL would be a burst without end."""
    assert plan_next_run(replace(CALM, ttl=ttl, is_degraded=True), WAITS).wait == wait


def test_a_confirmation_is_never_later_than_the_ttl() -> None:
    """The schedule would be there before it."""
    short = replace(CALM, ttl=5 * MINUTE, wants_confirmation=True)

    assert plan_next_run(short, WAITS) == NextRun(NextTrigger.CONFIRM, 5 * MINUTE, 0)


def test_the_first_burst_is_counted_down_and_goes_before_recovery() -> None:
    """A baseline is filled even where an alarm was raised on a provisional one."""
    degraded = replace(CALM, onboarding_left=3, is_degraded=True)

    assert plan_next_run(degraded, WAITS) == NextRun(NextTrigger.BASELINE, 7 * MINUTE, 2)
    assert plan_next_run(replace(CALM, onboarding_left=1), WAITS) == NextRun(
        NextTrigger.TTL, TTL, 0
    )


def test_another_fingerprint_is_looked_at_in_full_at_once() -> None:
    """But not again and again: the full run that follows is not followed by another."""
    changed = replace(CALM, fingerprint_changed=True)

    assert plan_next_run(changed, WAITS) == NextRun(NextTrigger.FINGERPRINT, timedelta(), 0)
    assert plan_next_run(replace(changed, suite="full"), WAITS).why is NextTrigger.TTL


def test_a_warning_goes_before_another_fingerprint() -> None:
    """Two runs within one minute see the same bad minute; the confirmation is full as well."""
    both = replace(CALM, fingerprint_changed=True, wants_confirmation=True)

    assert plan_next_run(both, WAITS).why is NextTrigger.CONFIRM


def test_a_run_without_a_verdict_is_tried_again_ever_later_for_the_same_reason() -> None:
    """Twice as late each time and never later than the TTL; a verdict begins anew."""
    void, before = EndedRun("light", TTL, False, False), DueState("key_change", 20, fruitless=2)

    assert plan_after_run(void, before, Watch(), WAITS) == (
        DueState("key_change", 20, 3),
        60 * MINUTE,
    )
    assert [back_off(n, TTL) / MINUTE for n in (0, 1, 4, 5, 30)] == [15, 30, 240, 360, 360]
    verdict = replace(void, has_verdict=True)
    assert plan_after_run(verdict, before, Watch(), WAITS) == (
        DueState("baseline", 19, 0),
        7 * MINUTE,
    )


def test_a_profile_is_first_measured_in_full() -> None:
    """So is what changed or warned; the rest is light."""
    assert suite_for("ttl", is_known=False) == "full"
    whys = ("key_change", "confirm", "fingerprint", "ttl", "baseline", "recovery")
    suites = [suite_for(why, is_known=True) for why in whys]
    assert suites == ["full", "full", "full", "light", "light", "light"]
