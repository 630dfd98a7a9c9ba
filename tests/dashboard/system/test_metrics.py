from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.db.models.functions import Now
from django.test import Client
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as parse_openmetrics,
)
from prometheus_client.parser import text_string_to_metric_families as parse

from dashboard.core import partitions
from dashboard.models import Endpoint
from tests.dashboard.system.builders import make_held_run
from tests.factories import make_endpoint, make_finished_run

Samples = dict[str, dict[tuple[str, ...], float]]


def read(client: Client) -> Samples:
    """Every metric by its name, each sample by the values of its labels."""
    families = list(parse(client.get("/metrics").content.decode()))
    assert all(family.documentation and family.type == "gauge" for family in families)
    return {
        family.name: {tuple(s.labels.values()): s.value for s in family.samples}
        for family in families
    }


def test_metrics_can_be_parsed_and_are_all_ours(client: Client, healthy: Endpoint) -> None:
    """Prometheus' own parser reads the page; every name has our prefix, a help and a type."""
    found = read(client)

    assert len(found) > 25
    assert {name for name in found if not name.startswith("toolgauge_")} == set()


def test_metrics_tell_the_state_of_the_system(client: Client, healthy: Endpoint) -> None:
    """Runs by state and provider, what the last hour brought, and who is alive."""
    make_finished_run(healthy, passed=3, failed=1, void=1, claims=2)
    make_held_run(healthy, expires_in=timedelta(minutes=1))

    found = read(client)

    assert found["toolgauge_runs"] == {("queued",): 0, ("leased",): 0, ("running",): 1}
    assert found["toolgauge_provider_runs"] == {("openai",): 1}
    assert found["toolgauge_runs_ended_last_hour"][("finished",)] == 1
    assert found["toolgauge_run_claims_last_hour"][()] == 3
    assert found["toolgauge_run_takeovers_last_hour"][()] == 1
    assert found["toolgauge_attempts_void_last_hour"][()] == 1
    assert found["toolgauge_workers_alive"][()] == 1
    assert found["toolgauge_database_size_bytes"][()] > 1_000_000


def test_metrics_tell_about_every_endpoint(client: Client, healthy: Endpoint) -> None:
    """Status, figures and times, by slug; what is unknown has no line."""
    make_endpoint(slug="new")
    run = make_finished_run(healthy, passed=19, failed=1)
    Endpoint.objects.filter(pk=healthy.pk).update(last_finished_at=run.finished_at)

    found = read(client)

    assert run.finished_at
    assert found["toolgauge_endpoint_status"] == {("steady", "healthy"): 1, ("new", "waiting"): 1}
    assert found["toolgauge_endpoint_parse_success_ratio"] == {("steady",): 0.95}
    assert found["toolgauge_endpoint_last_finished_timestamp_seconds"] == {
        ("steady",): pytest.approx(run.finished_at.timestamp())
    }
    assert set(found["toolgauge_endpoint_next_due_timestamp_seconds"]) == {("steady",), ("new",)}


def test_metrics_count_the_endpoints_to_look_at(client: Client, healthy: Endpoint) -> None:
    """What an alarm is set on: stale ones, and those without budget."""
    make_endpoint(slug="poor")
    Endpoint.objects.filter(slug="poor").update(spent_out_on=partitions.database_today())
    long_ago = Now() - timedelta(days=2)
    Endpoint.objects.filter(slug="steady").update(last_finished_at=long_ago)

    found = read(client)

    assert found["toolgauge_endpoints"][()] == 2
    assert found["toolgauge_endpoints_stale"][()] == 1
    assert found["toolgauge_endpoints_spent_out"][()] == 1


@pytest.mark.usefixtures("no_broker")
def test_metrics_outlive_the_broker(client: Client, healthy: Endpoint) -> None:
    """Without it there is one line fewer, and one that says so."""
    found = read(client)

    assert found["toolgauge_broker_up"][()] == 0
    assert found["toolgauge_doorbells_waiting"] == {}


def test_two_scrapes_of_the_same_state_are_equal(client: Client, healthy: Endpoint) -> None:
    """Nothing is counted in the process, so any of several web processes tells the same."""
    moving = ("toolgauge_database_size_bytes", "toolgauge_partitions_size_bytes")

    first, second = read(client), read(client)

    for name in moving:
        del first[name], second[name]
    assert first == second


def test_openmetrics_is_spoken_to_those_who_ask(client: Client, healthy: Endpoint) -> None:
    """Prometheus prefers it, and its parser is stricter."""
    answer = client.get("/metrics", headers={"Accept": "application/openmetrics-text"})

    assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
    assert list(parse_openmetrics(answer.content.decode()))  # type: ignore[no-untyped-call]


def test_metrics_carry_the_content_type_of_prometheus(client: Client, healthy: Endpoint) -> None:
    """A scraper decides by it how to read the page, and never takes it from a cache."""
    answer = client.get("/metrics")

    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "no-store" in answer.headers["Cache-Control"]


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("", 401),
        ("Bearer wrong", 401),
        ("Bearer t0ken-ä", 401),
        ("Basic t0ken", 401),
        ("Bearer t0ken", 200),
        ("bearer  t0ken", 200),
    ],
    ids=["none", "wrong", "not ascii", "other scheme", "right", "right in small letters"],
)
def test_a_token_guards_metrics_where_one_is_set(
    client: Client, healthy: Endpoint, settings: LazySettings, header: str, status: int
) -> None:
    """Who does not send METRICS_TOKEN learns nothing but what to send."""
    settings.METRICS_TOKEN = "t0ken"

    answer = client.get("/metrics", headers={"Authorization": header} if header else {})

    assert answer.status_code == status
    assert (b"toolgauge_runs" in answer.content) == (status == 200)
    assert ("WWW-Authenticate" in answer.headers) == (status == 401)
