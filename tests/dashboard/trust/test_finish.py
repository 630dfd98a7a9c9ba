"""The end of a run is one step: all of it or nothing, once, whoever is late."""

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
from tests.dashboard.runs.builders import expire, started
from tests.dashboard.runs.conftest import FIELDS
from tests.dashboard.runs.storage.builders import at_once
from tests.dashboard.trust.builders import (
    CLOSURE,
    DEAD,
    HEALTHY,
    REFUSING,
    Trials,
    answer,
    begun,
    finished,
    is_replayed,
    on,
    told,
)

STORY: tuple[Trials, ...] = (HEALTHY, DEAD, DEAD)
# Who and when, which differ from one telling to the other.
INCIDENTAL = {
    *("id", "run", "after", "opened_by", "last", "profile_id", "incident_id", "endpoint_id"),
    *("at", "on_at", "off_at", "opened_at", "absorbed_at", "left_at", "updated_at", "created_at"),
    *("run_at", "since", "sha256", "run_id", "finished_at", "version", "changed_at", "title"),
    *("slug", "endpoint", "incident", "good_until"),
}


def told_of(endpoint: Endpoint) -> dict[str, Any]:
    """All that follows from the runs of an endpoint, without numbers of rows and times."""
    values = {"endpoint": endpoint.pk}
    return {
        table: [_plain(json.loads(found)) for (found,) in fetch_rows(statement, values)]
        for table, statement in _FOLLOWS.items()
    }


def everything() -> list[tuple[Any, ...]]:
    """All rows of all tables, as sums."""
    return sorted(fetch_rows(_EVERYTHING))


class Crash:
    """Breaks the connection at one statement; later ones are let through."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, execute: Callable[..., Any], *given: Any) -> Any:
        self.left -= 1
        if self.left == -1:
            raise OperationalError("the connection was lost")
        return execute(*given)


def test_a_crash_at_any_statement_leaves_nothing_and_the_next_try_everything(
    endpoint: Endpoint,
) -> None:
    """Watch, incident, modes, events, notices, pins and policy come together or not at all."""
    twin = endpoints.create(**{**FIELDS, "slug": "twin"})
    finished(twin, *STORY)
    finished(endpoint, *STORY[:-1])
    lease = begun(endpoint, STORY[-1])
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
    assert told_of(endpoint) == told_of(twin)
    assert is_replayed(endpoint.profile)


def test_one_finish_writes_all_that_follows(endpoint: Endpoint) -> None:
    """The twin of the test above must not be empty, or nothing would be compared."""
    finished(endpoint, *STORY)

    follows = told_of(endpoint)

    assert {table for table, found in follows.items() if not found} == set()
    assert told(endpoint.profile) == ["warned", "opened"]
    assert on(endpoint.profile) >= {"read_only_tools", "strong_validation"}
    assert Notice.objects.get().kind == "incident.opened"
    assert Pin.objects.get().run_id == Incident.objects.get().opened_by


def test_a_replayed_finish_is_refused_and_doubles_nothing(endpoint: Endpoint) -> None:
    """A message that is delivered twice finds no lease."""
    finished(endpoint, *STORY[:-1])
    lease = begun(endpoint, STORY[-1])
    finish.finish_run(lease)
    before = everything()

    with pytest.raises(LeaseLost):
        finish.finish_run(lease)

    assert everything() == before


def test_a_run_that_was_followed_is_not_followed_again(endpoint: Endpoint) -> None:
    """Whoever asks once more gets the watch as it stands, for every run so far."""
    finished(endpoint, *STORY)
    profile = endpoint.profile
    watch, before = Watch.objects.state_of(profile), everything()

    for run in Run.objects.order_by("-id"):
        assert detection.follow_run(run, profile) == watch

    assert everything() == before


def test_a_worker_that_lost_its_run_cannot_finish_it_after_the_next_one(
    endpoint: Endpoint,
) -> None:
    """Two workers in the wrong order leave what the right order would have left."""
    straight = endpoints.create(**{**FIELDS, "slug": "straight"})
    finished(straight, *STORY, REFUSING)
    finished(endpoint, *STORY[:-1])
    slow = begun(endpoint, STORY[-1])
    expire(slow)
    assert schedule.reap() == 1
    Run.objects.filter(pk=slow.run_id).update(not_before=_now())
    quick = started()
    assert quick.run_id == slow.run_id

    finish.finish_run(quick)
    with pytest.raises(LeaseLost):
        finish.finish_run(slow)
    finished(endpoint, REFUSING)
    with pytest.raises(LeaseLost):
        finish.finish_run(slow)

    assert told_of(endpoint) == told_of(straight)
    assert is_replayed(endpoint.profile)


def test_what_a_late_worker_found_is_not_taken(endpoint: Endpoint) -> None:
    """Its attempts would mix with those of the worker that has the run now."""
    finished(endpoint, HEALTHY)
    slow = begun(endpoint, HEALTHY)
    expire(slow)
    schedule.reap()

    with pytest.raises(LeaseLost):
        attempts.record(slow, answer(DEAD, trial=2))


@pytest.mark.django_db(transaction=True)
def test_two_workers_that_finish_one_run_at_once_finish_it_once(transactional_db: None) -> None:
    """The one who comes second is refused; everything is written one time."""
    endpoint = endpoints.create(**FIELDS)
    finished(endpoint, *STORY[:-1])
    lease = begun(endpoint, STORY[-1])

    answers = at_once(4, lambda: _finish(lease))

    profile = Profile.objects.get()
    assert sorted(answers) == ["finished", "refused", "refused", "refused"]
    assert told(profile) == ["warned", "opened"]
    assert (Incident.objects.count(), Notice.objects.count()) == (1, 1)
    assert is_replayed(profile)


@pytest.mark.django_db(transaction=True)
def test_a_finish_beside_a_changed_key_or_an_acceptance_comes_before_or_after_it(
    transactional_db: None,
) -> None:
    """Whatever the order, the watch is what its runs and acts make of it."""
    endpoint = endpoints.create(**FIELDS)
    finished(endpoint, HEALTHY, REFUSING)
    profile = endpoint.profile
    lease = begun(endpoint, REFUSING)
    calls: list[Callable[[], object]] = [
        partial(_finish, lease),
        partial(_accept, profile),
        partial(_change, endpoint),
    ]

    def any_of_them() -> None:
        calls.pop()()

    at_once(3, any_of_them)

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


def _change(endpoint: Endpoint) -> None:
    endpoints.update(endpoint, key=None, forget_key=False, model="n")


def _now() -> Any:
    found = fetch_row("SELECT statement_timestamp()")
    assert found
    return found[0]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(kept) for key, kept in value.items() if key not in INCIDENTAL}
    if isinstance(value, list):
        return [_plain(kept) for kept in value]
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
