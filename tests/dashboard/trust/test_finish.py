"""Finishing a run is one step: all or nothing, and only once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any

import pytest
from django.db import OperationalError, connection

from dashboard.core.errors import LeaseLost, Refused
from dashboard.core.sql import fetch_row, fetch_rows
from dashboard.endpoints.services import endpoints
from dashboard.models import (
    Endpoint,
    Incident,
    ModeSwitch,
    Notice,
    Pin,
    Profile,
    Run,
    Watch,
    WatchEvent,
)
from dashboard.runs import attempts, schedule
from dashboard.runs.services import Lease
from dashboard.trust import detection, finish
from tests.dashboard.runs.builders import expire_lease, start_next_run
from tests.dashboard.runs.conftest import FIELDS
from tests.dashboard.runs.storage.builders import call_concurrently
from tests.dashboard.trust.builders import (
    CLOSURE,
    DEAD,
    HEALTHY,
    REFUSING,
    Trials,
    active_modes,
    attempt_with,
    begin_run,
    event_kinds,
    finish_runs,
    is_replayed,
)

STORY: tuple[Trials, ...] = (HEALTHY, DEAD, DEAD)
# Ids, times and names, which differ between two endpoints with the same runs.
INCIDENTAL = {
    *("id", "run", "after", "opened_by", "last", "profile_id", "incident_id", "endpoint_id"),
    *("at", "on_at", "off_at", "opened_at", "absorbed_at", "left_at", "updated_at", "created_at"),
    *("run_at", "since", "sha256", "run_id", "finished_at", "version", "changed_at", "title"),
    *("slug", "endpoint", "incident", "good_until"),
}


def rows_of(endpoint: Endpoint) -> dict[str, Any]:
    """All rows that follow from the runs of an endpoint, without ids and times."""
    values = {"endpoint": endpoint.pk}
    return {
        table: [_plain(json.loads(row)) for (row,) in fetch_rows(statement, values)]
        for table, statement in _FOLLOWS.items()
    }


def everything() -> list[tuple[Any, ...]]:
    """Count and checksum of every table."""
    return sorted(fetch_rows(_EVERYTHING))


class Crash:
    """Breaks the connection at one statement; later ones pass."""

    def __init__(self, at: int) -> None:
        self.remaining = at

    def __call__(self, execute: Callable[..., Any], *args: Any) -> Any:
        self.remaining -= 1
        if self.remaining == -1:
            raise OperationalError("the connection was lost")
        return execute(*args)


def test_a_crash_at_any_statement_changes_nothing_and_a_retry_writes_everything(
    endpoint: Endpoint,
) -> None:
    """Watch, incident, modes, events, notices, pins and policy are written all or not at all."""
    twin = endpoints.create(**{**FIELDS, "slug": "twin"})
    finish_runs(twin, *STORY)
    finish_runs(endpoint, *STORY[:-1])
    lease = begin_run(endpoint, STORY[-1])
    before = everything()

    for statement in count():
        try:
            with connection.execute_wrapper(Crash(statement)):
                finish.finish_run(lease)
        except OperationalError:
            assert everything() == before, f"statement {statement} left a trace"
        else:
            break

    assert statement > 20
    assert Incident.objects.filter(profile__endpoint=endpoint).count() == 1
    assert rows_of(endpoint) == rows_of(twin)
    assert is_replayed(endpoint.profile)


def test_one_finish_writes_all_that_follows(endpoint: Endpoint) -> None:
    """No table in the comparison above is empty."""
    finish_runs(endpoint, *STORY)

    follows = rows_of(endpoint)

    assert {table for table, rows in follows.items() if not rows} == set()
    assert event_kinds(endpoint.profile) == ["warned", "opened"]
    assert active_modes(endpoint.profile) >= {"read_only_tools", "strong_validation"}
    assert Notice.objects.get().kind == "incident.opened"
    assert Pin.objects.get().run_id == Incident.objects.get().opened_by


def test_finishing_a_run_twice_is_refused_and_changes_nothing(endpoint: Endpoint) -> None:
    """A task that is delivered twice finds no lease."""
    finish_runs(endpoint, *STORY[:-1])
    lease = begin_run(endpoint, STORY[-1])
    finish.finish_run(lease)
    before = everything()

    with pytest.raises(LeaseLost):
        finish.finish_run(lease)

    assert everything() == before


def test_a_run_that_was_followed_is_not_followed_again(endpoint: Endpoint) -> None:
    """Following any run again returns the stored watch and writes nothing."""
    finish_runs(endpoint, *STORY)
    profile = endpoint.profile
    watch, before = Watch.objects.state_of(profile), everything()

    for run in Run.objects.order_by("-id"):
        assert detection.follow_run(run, profile) == watch

    assert everything() == before


def test_a_worker_that_lost_its_run_cannot_finish_it_after_the_next_one(
    endpoint: Endpoint,
) -> None:
    """Two workers in the wrong order write the same rows as in the right order."""
    straight = endpoints.create(**{**FIELDS, "slug": "straight"})
    finish_runs(straight, *STORY, REFUSING)
    finish_runs(endpoint, *STORY[:-1])
    slow = begin_run(endpoint, STORY[-1])
    expire_lease(slow)
    assert schedule.reap_expired_leases() == 1
    Run.objects.filter(pk=slow.run_id).update(not_before=_now())
    quick = start_next_run()
    assert quick.run_id == slow.run_id

    finish.finish_run(quick)
    with pytest.raises(LeaseLost):
        finish.finish_run(slow)
    finish_runs(endpoint, REFUSING)
    with pytest.raises(LeaseLost):
        finish.finish_run(slow)

    assert rows_of(endpoint) == rows_of(straight)
    assert is_replayed(endpoint.profile)


def test_attempts_of_a_worker_without_the_lease_are_refused(endpoint: Endpoint) -> None:
    """They would mix with those of the worker that holds the run now."""
    finish_runs(endpoint, HEALTHY)
    slow = begin_run(endpoint, HEALTHY)
    expire_lease(slow)
    schedule.reap_expired_leases()

    with pytest.raises(LeaseLost):
        attempts.record_attempt(slow, attempt_with(DEAD, trial=2))


@pytest.mark.django_db(transaction=True)
def test_two_workers_that_finish_one_run_at_once_finish_it_once(transactional_db: None) -> None:
    """The others are refused, and everything is written once."""
    endpoint = endpoints.create(**FIELDS)
    finish_runs(endpoint, *STORY[:-1])
    lease = begin_run(endpoint, STORY[-1])

    answers = call_concurrently(4, lambda: _finish(lease))

    profile = Profile.objects.get()
    assert sorted(answers) == ["finished", "refused", "refused", "refused"]
    assert event_kinds(profile) == ["warned", "opened"]
    assert (Incident.objects.count(), Notice.objects.count()) == (1, 1)
    assert is_replayed(profile)


@pytest.mark.django_db(transaction=True)
def test_concurrent_finish_key_change_and_baseline_reset_are_serialised(
    transactional_db: None,
) -> None:
    """In any order the watch equals a replay of its runs and decisions."""
    endpoint = endpoints.create(**FIELDS)
    finish_runs(endpoint, HEALTHY, REFUSING)
    profile = endpoint.profile
    lease = begin_run(endpoint, REFUSING)
    calls: list[Callable[[], object]] = [
        partial(_finish, lease),
        partial(_accept, profile),
        partial(_change_key, endpoint),
    ]

    def call_next() -> None:
        calls.pop()()

    call_concurrently(3, call_next)

    profile.refresh_from_db()
    assert profile.ended_at is not None
    assert is_replayed(profile)
    assert not Incident.objects.filter(ended_at=None).exists()
    assert not ModeSwitch.objects.filter(off_at=None).exists()
    assert WatchEvent.objects.filter(kind="opened").count() == 1


def _finish(lease: Lease) -> str:
    try:
        finish.finish_run(lease)
    except LeaseLost:
        return "refused"
    return "finished"


def _accept(profile: Profile) -> None:
    with suppress(Refused):
        detection.accept_baseline(
            Profile.objects.get(pk=profile.pk), CLOSURE, by=None, note="So be it."
        )


def _change_key(endpoint: Endpoint) -> None:
    endpoints.update(endpoint, key=None, forget_key=False, model="n")


def _now() -> Any:
    row = fetch_row("SELECT statement_timestamp()")
    assert row
    return row[0]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if key not in INCIDENTAL}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return re.sub(r"incident \d+", "the incident", value) if isinstance(value, str) else value


_OF_PROFILE = "profile_id IN (SELECT id FROM dashboard_profile WHERE endpoint_id = %(endpoint)s)"
_OF_RUN = "run_id IN (SELECT id FROM dashboard_run WHERE endpoint_id = %(endpoint)s)"
_FOLLOWS = {
    table: f"SELECT to_jsonb(t) FROM dashboard_{table} t WHERE {which} ORDER BY {order}"  # noqa: S608
    for table, which, order in (
        ("runmetric", _OF_PROFILE, "run_id, metric"),
        ("watch", _OF_PROFILE, "id"),
        ("incident", _OF_PROFILE, "id"),
        ("watchevent", _OF_PROFILE, "id"),
        ("modeswitch", _OF_PROFILE, "mode"),
        ("notice", "endpoint_id = %(endpoint)s", "id"),
        ("pin", _OF_RUN, "run_id, probe, trial"),
        ("policy", "endpoint_id = %(endpoint)s", "endpoint_id"),
        ("policyversion", "endpoint_id = %(endpoint)s", "version"),
    )
}
_TABLES = (
    *("run", "attempt", "evidence", "endpoint", "profile", "spend", "runmetric", "observation"),
    *("observationbatch", "fingerprintchange", "watch", "incident", "watchevent", "modeswitch"),
    *("notice", "pin", "pinnedevidence", "policy", "policyversion"),
)
_EVERYTHING = " UNION ALL ".join(
    f"SELECT '{table}', count(*), sum(hashtextextended(t::text, 0)) FROM dashboard_{table} t"  # noqa: S608
    for table in _TABLES
)
