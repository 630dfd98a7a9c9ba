from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.models import Endpoint, ObservationBatch, Profile
from health.observation_bits import unpack_verdicts
from probes.outcomes import Metric, Verdict
from tests.dashboard.api.client import ApiClient, read_error
from tests.factories import make_endpoint

REQUEST = "0191f1c4-6d7c-7c3e-9d0a-3f5a6b7c8d9e"


def event(**over: Any) -> dict[str, Any]:
    return {"endpoint": "steady", "at": timezone.now().isoformat(), **over}


def batch(*events: dict[str, Any], batch_id: UUID | None = None) -> dict[str, Any]:
    return {"batch_id": str(batch_id or uuid4()), "events": list(events)}


def stored(*columns: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        statement = f"SELECT {', '.join(columns)} FROM dashboard_observation ORDER BY event_at"  # noqa: S608
        cursor.execute(statement)
        return list(cursor.fetchall())


def test_an_event_is_stored_as_it_was_sent(api: ApiClient) -> None:
    """Every figure of the event is in its row, as live traffic and with the token's id."""
    profile = make_endpoint().profile
    at = timezone.now() - timedelta(minutes=3)
    figures = {"latency_ms": 812, "first_byte_ms": 240, "input_tokens": 210, "output_tokens": 38}
    verdicts = {"parse_success": True, "schema_failure": False}
    sent = event(at=at.isoformat(), verdicts=verdicts, **figures, http_status=200)
    sent |= {"end_reason": "tool_calls", "request_id": REQUEST, "policy_version": 3}

    answer = api.post("/telemetry", batch(sent))

    assert answer.json() == {"accepted": 1, "duplicate": False, "rejected": []}
    columns = ("profile_id", "key_epoch", "lane", "event_at", "client_id", "policy_version")
    assert stored(*columns) == [(profile.pk, 1, 1, at, api.token.pk, 3)]
    assert stored(*figures, "http_status", "end_reason", "request_id") == [
        (812, 240, 210, 38, 200, 1, UUID(REQUEST))
    ]
    assert unpack_verdicts(stored("verdicts")[0][0]) == [
        Verdict(Metric.PARSE_SUCCESS, good=True),
        Verdict(Metric.SCHEMA_FAILURE, good=False),
    ]


def test_the_same_batch_again_stores_nothing(api: ApiClient) -> None:
    """A request that timed out can be repeated without counting anything twice."""
    make_endpoint()
    sent = batch(event(), event(verdicts={"leak": True}))
    first = api.post("/telemetry", sent)

    again = api.post("/telemetry", sent)

    assert first.json()["accepted"] == 2
    assert (again.status_code, again.json()) == (
        200,
        {"accepted": 2, "duplicate": True, "rejected": []},
    )
    assert len(stored("lane")) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda events: [*events, events[0]],
        lambda events: events[:1],
        lambda events: [{**events[0], "verdicts": {"leak": False}}, events[1]],
        lambda events: [{**events[0], "endpoint": "gone"}, events[1]],
        lambda events: [],
    ],
    ids=["more", "fewer", "another verdict", "another endpoint", "none"],
)
def test_a_batch_id_with_other_events_is_refused(
    api: ApiClient, change: Callable[[list[Any]], list[Any]]
) -> None:
    """Not answered as a duplicate, which would lose them; the stored batch stays."""
    make_endpoint()
    sent = batch(event(verdicts={"leak": True}), event())
    api.post("/telemetry", sent)
    before = stored("verdicts", "event_at")

    answer = api.post("/telemetry", {**sent, "events": change(sent["events"])})

    assert answer.status_code == 409
    assert read_error(answer)["code"] == "batch_reused"
    assert sent["batch_id"] in read_error(answer)["detail"]
    assert stored("verdicts", "event_at") == before
    assert api.post("/telemetry", sent).json()["duplicate"] is True


def test_a_batch_of_before_the_digests_is_answered_as_a_duplicate(api: ApiClient) -> None:
    """Nothing is known of its events."""
    make_endpoint()
    sent = batch(event())
    api.post("/telemetry", sent)
    ObservationBatch.objects.update(digest=None)

    assert api.post("/telemetry", {**sent, "events": []}).json()["duplicate"] is True


def test_two_clients_may_draw_the_same_batch_id(make_client: Callable[..., ApiClient]) -> None:
    """One client cannot block the events of another."""
    make_endpoint()
    sent = batch(event())

    answers = [make_client("telemetry").post("/telemetry", sent).json() for _ in range(2)]

    assert [answer["duplicate"] for answer in answers] == [False, False]
    assert len(stored("lane")) == 2


def test_events_that_cannot_be_placed_are_named_and_the_others_kept(api: ApiClient) -> None:
    """Each rejected event with its index and the reason."""
    make_endpoint()
    now = timezone.now()
    events = [
        event(endpoint="gone"),
        event(at=(now - timedelta(days=7, minutes=1)).isoformat()),
        event(),
        event(at=(now + timedelta(minutes=6)).isoformat()),
        event(epoch=9),
        event(at=(now + timedelta(minutes=4)).isoformat()),
        event(at=(now - timedelta(days=6, hours=23)).isoformat()),
    ]

    answer = api.post("/telemetry", batch(*events))

    body = answer.json()
    assert (answer.status_code, body["accepted"]) == (200, 3)
    assert [(r["index"], r["message"]) for r in body["rejected"]] == [
        (0, "There is no endpoint 'gone'."),
        (1, "It is older than 7 days."),
        (3, "It is more than 5 minutes in the future. Set the clock of the client."),
        (4, "'steady' has no profile 9."),
    ]
    assert len(stored("lane")) == 3


def test_a_removed_endpoint_takes_no_events(api: ApiClient) -> None:
    """Events of a removed endpoint are rejected: its name may be reused."""
    make_endpoint()
    api.delete("/endpoints/steady")

    answer = api.post("/telemetry", batch(event()))

    assert answer.json()["accepted"] == 0


def test_a_batch_of_nothing_but_rejected_events_is_still_known(api: ApiClient) -> None:
    """A repetition is a duplicate even if all its events were rejected."""
    sent = batch(event(endpoint="gone"))

    answers = [api.post("/telemetry", sent).json() for _ in range(2)]

    assert [(a["accepted"], a["duplicate"]) for a in answers] == [(0, False), (0, True)]


def test_an_event_belongs_to_the_profile_of_its_time(api: ApiClient) -> None:
    """A late event counts for the key in force at its time, unless it names its epoch."""
    first, second = _two_profiles(changed_at=timezone.now() - timedelta(hours=1))
    before = (timezone.now() - timedelta(hours=2)).isoformat()

    api.post("/telemetry", batch(event(at=before), event(at=before, epoch=2), event()))

    assert sorted(stored("profile_id", "key_epoch")) == [
        (first.pk, 1),
        (second.pk, 2),
        (second.pk, 2),
    ]


@pytest.mark.parametrize(
    ("over", "field"),
    [
        ({"at": "2026-05-01T12:00:00"}, "at"),
        ({"at": "yesterday"}, "at"),
        ({"verdicts": {"bogus": True}}, "verdicts.bogus"),
        ({"verdicts": {"leak": "yes"}}, "verdicts.leak"),
        ({"latency_ms": -1}, "latency_ms"),
        ({"latency_ms": 2**31}, "latency_ms"),
        ({"latency_ms": 1.5}, "latency_ms"),
        ({"http_status": 1000}, "http_status"),
        ({"end_reason": "tired"}, "end_reason"),
        ({"request_id": "7"}, "request_id"),
        ({"endpoint": "nul\0"}, "endpoint"),
        ({"colour": "red"}, "colour"),
        ({"epoch": -1}, "epoch"),
    ],
    ids=str,
)
def test_a_malformed_batch_is_refused_whole(
    api: ApiClient, over: dict[str, Any], field: str
) -> None:
    """The message names event and field, and nothing is stored."""
    make_endpoint()

    answer = api.post("/telemetry", batch(event(), event(**over)))

    assert answer.status_code == 422
    details = read_error(answer)["errors"]
    assert [(d["field"], d["index"]) for d in details] == [(f"events.1.{field}", 1)]
    assert not ObservationBatch.objects.exists()


def test_a_batch_has_at_most_five_thousand_events(api: ApiClient) -> None:
    """A larger batch is refused as a whole."""
    make_endpoint()
    single = event()

    assert api.post("/telemetry", batch(*[single] * 5000)).json()["accepted"] == 5000
    answer = api.post("/telemetry", batch(*[single] * 5001))

    assert answer.status_code == 422
    assert "5000 items" in read_error(answer)["detail"]


def test_the_cost_of_a_batch_does_not_grow_with_it(api: ApiClient) -> None:
    """As many queries for a hundred events of five endpoints as for one."""
    for number in range(5):
        make_endpoint(slug=f"e{number}")
    api.get("/endpoints")  # the first use of the token is noted
    events = [event(endpoint=f"e{number % 5}") for number in range(100)]

    with CaptureQueriesContext(connection) as for_one:
        api.post("/telemetry", batch(events[0]))
    with CaptureQueriesContext(connection) as for_all:
        api.post("/telemetry", batch(*events))

    assert len(stored("lane")) == 101
    assert len(for_all) == len(for_one)


def _two_profiles(*, changed_at: datetime) -> tuple[Profile, Profile]:
    endpoint = make_endpoint()
    first = endpoint.profile
    long_ago = changed_at - timedelta(days=3)
    Profile.objects.filter(pk=first.pk).update(created_at=long_ago, ended_at=changed_at)
    second = Profile.objects.create(
        endpoint=endpoint, epoch=2, provider="openai", model="m-2", key_hash=b"2" * 32
    )
    Profile.objects.filter(pk=second.pk).update(created_at=changed_at)
    assert Endpoint.objects.get().profile == second
    return first, second
