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
    """Without a warning or an alarm, the next run is due after the TTL."""
    assert plan_next_run(CALM, WAITS) == NextRun(NextTrigger.TTL, TTL, 0)


def test_a_warning_is_confirmed_soon() -> None:
    """Confirmation runs come before scheduled ones."""
    warned = replace(CALM, wants_confirmation=True, is_degraded=True, onboarding_left=5)

    assert plan_next_run(warned, WAITS) == NextRun(NextTrigger.CONFIRM, 6 * MINUTE, 4)


def test_an_open_alarm_is_probed_four_times_as_often() -> None:
    """Only probes can prove recovery, since live traffic runs in fallback modes."""
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
    """Recovery runs have a minimum interval, also under a short TTL."""
    assert plan_next_run(replace(CALM, ttl=ttl, is_degraded=True), WAITS).wait == wait


def test_a_confirmation_is_never_later_than_the_ttl() -> None:
    """A confirmation run is due after the TTL at the latest."""
    short = replace(CALM, ttl=5 * MINUTE, wants_confirmation=True)

    assert plan_next_run(short, WAITS) == NextRun(NextTrigger.CONFIRM, 5 * MINUTE, 0)


def test_onboarding_runs_are_counted_down_and_precede_recovery() -> None:
    """The baseline is completed even after an alarm on a provisional baseline."""
    degraded = replace(CALM, onboarding_left=3, is_degraded=True)

    assert plan_next_run(degraded, WAITS) == NextRun(NextTrigger.BASELINE, 7 * MINUTE, 2)
    assert plan_next_run(replace(CALM, onboarding_left=1), WAITS) == NextRun(
        NextTrigger.TTL, TTL, 0
    )


def test_a_changed_fingerprint_triggers_a_full_run_at_once() -> None:
    """The full run that follows does not trigger another."""
    changed = replace(CALM, fingerprint_changed=True)

    assert plan_next_run(changed, WAITS) == NextRun(NextTrigger.FINGERPRINT, timedelta(), 0)
    assert plan_next_run(replace(changed, suite="full"), WAITS).why is NextTrigger.TTL


def test_a_warning_precedes_a_changed_fingerprint() -> None:
    """Two runs within one minute see the same bad minute; the confirmation run is full as well."""
    both = replace(CALM, fingerprint_changed=True, wants_confirmation=True)

    assert plan_next_run(both, WAITS).why is NextTrigger.CONFIRM


def test_runs_without_a_verdict_back_off_and_keep_their_reason() -> None:
    """The wait doubles up to the TTL; a verdict resets it."""
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
    """So are key changes, confirmations and new fingerprints; other runs are light."""
    assert suite_for("ttl", is_known=False) == "full"
    whys = ("key_change", "confirm", "fingerprint", "ttl", "baseline", "recovery")
    suites = [suite_for(why, is_known=True) for why in whys]
    assert suites == ["full", "full", "full", "light", "light", "light"]
