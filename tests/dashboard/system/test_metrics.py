from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.db.models.functions import Now
from django.http import HttpResponse
from django.test import Client
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as parse_openmetrics,
)
from prometheus_client.parser import text_string_to_metric_families as parse

from dashboard.core import partitions
from dashboard.models import ApiToken, Endpoint
from dashboard.models.people import Role, Scope, Team
from dashboard.people.services import tokens
from tests.dashboard.system.builders import make_held_run
from tests.factories import make_endpoint, make_finished_run, make_person

Samples = dict[str, dict[tuple[str, ...], float]]


def read_metrics(client: Client) -> Samples:
    """The samples by metric name and label values."""
    families = list(parse(client.get("/metrics").content.decode()))
    assert all(family.documentation and family.type == "gauge" for family in families)
    return {
        family.name: {tuple(s.labels.values()): s.value for s in family.samples}
        for family in families
    }


def test_metrics_can_be_parsed_and_have_our_prefix(signed_in: Client, healthy: Endpoint) -> None:
    """The parser of Prometheus reads the page; every metric has our prefix, help and type."""
    metrics = read_metrics(signed_in)

    assert len(metrics) > 25
    assert {name for name in metrics if not name.startswith("toolgauge_")} == set()


def test_metrics_show_the_state_of_the_system(signed_in: Client, healthy: Endpoint) -> None:
    """Runs by state and provider, the last hour, and the workers alive."""
    make_finished_run(healthy, passed=3, failed=1, void=1, claims=2)
    make_held_run(healthy, expires_in=timedelta(minutes=1))

    metrics = read_metrics(signed_in)

    assert metrics["toolgauge_runs"] == {("queued",): 0, ("leased",): 0, ("running",): 1}
    assert metrics["toolgauge_provider_runs"] == {("openai",): 1}
    assert metrics["toolgauge_runs_ended_last_hour"][("finished",)] == 1
    assert metrics["toolgauge_run_claims_last_hour"][()] == 3
    assert metrics["toolgauge_run_takeovers_last_hour"][()] == 1
    assert metrics["toolgauge_attempts_void_last_hour"][()] == 1
    assert metrics["toolgauge_workers_alive"][()] == 1
    assert metrics["toolgauge_database_size_bytes"][()] > 1_000_000


def test_metrics_include_every_endpoint(signed_in: Client, healthy: Endpoint) -> None:
    """Status, rates and times by slug; unknown values have no sample."""
    make_endpoint(slug="new")
    run = make_finished_run(healthy, passed=19, failed=1)
    Endpoint.objects.filter(pk=healthy.pk).update(last_finished_at=run.finished_at)

    metrics = read_metrics(signed_in)

    assert run.finished_at
    assert metrics["toolgauge_endpoint_status"] == {("steady", "healthy"): 1, ("new", "waiting"): 1}
    assert metrics["toolgauge_endpoint_parse_success_ratio"] == {("steady",): 0.95}
    assert metrics["toolgauge_endpoint_last_finished_timestamp_seconds"] == {
        ("steady",): pytest.approx(run.finished_at.timestamp())
    }
    assert set(metrics["toolgauge_endpoint_next_due_timestamp_seconds"]) == {("steady",), ("new",)}


def test_metrics_count_stale_and_spent_out_endpoints(signed_in: Client, healthy: Endpoint) -> None:
    """Alerts can use the numbers of stale and spent-out endpoints."""
    make_endpoint(slug="poor")
    Endpoint.objects.filter(slug="poor").update(spent_out_on=partitions.database_today())
    long_ago = Now() - timedelta(days=2)
    Endpoint.objects.filter(slug="steady").update(last_finished_at=long_ago)

    metrics = read_metrics(signed_in)

    assert metrics["toolgauge_endpoints"][()] == 2
    assert metrics["toolgauge_endpoints_stale"][()] == 1
    assert metrics["toolgauge_endpoints_spent_out"][()] == 1


@pytest.mark.usefixtures("no_broker")
def test_metrics_work_without_the_broker(signed_in: Client, healthy: Endpoint) -> None:
    """The wake-ups have no sample, and broker_up is 0."""
    metrics = read_metrics(signed_in)

    assert metrics["toolgauge_broker_up"][()] == 0
    assert metrics["toolgauge_doorbells_waiting"] == {}


def test_two_scrapes_of_the_same_state_are_equal(signed_in: Client, healthy: Endpoint) -> None:
    """The process counts nothing, so that all web processes give the same result."""
    changing = ("toolgauge_database_size_bytes", "toolgauge_partitions_size_bytes")

    first, second = read_metrics(signed_in), read_metrics(signed_in)

    for name in changing:
        del first[name], second[name]
    assert first == second


def test_openmetrics_is_supported(signed_in: Client, healthy: Endpoint) -> None:
    """Prometheus prefers it, and its parser is stricter."""
    response = signed_in.get("/metrics", headers={"Accept": "application/openmetrics-text"})

    assert response.headers["Content-Type"].startswith("application/openmetrics-text")
    assert list(parse_openmetrics(response.content.decode()))  # type: ignore[no-untyped-call]


def test_metrics_have_the_content_type_of_prometheus(signed_in: Client, healthy: Endpoint) -> None:
    """A scraper selects its parser by the content type, and the page is not cached."""
    response = signed_in.get("/metrics")

    assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "no-store" in response.headers["Cache-Control"]


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
def test_the_metrics_token_reads_metrics(
    client: Client, healthy: Endpoint, settings: LazySettings, header: str, status: int
) -> None:
    """Without it the response names no endpoint, only what to send."""
    settings.METRICS_TOKEN = "t0ken"

    response = client.get("/metrics", headers={"Authorization": header} if header else {})

    assert response.status_code == status
    assert (b"toolgauge_runs" in response.content) == (status == 200)
    assert ("WWW-Authenticate" in response.headers) == (status == 401)


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Bearer x", "Basic x"])
def test_strangers_read_no_metrics(client: Client, healthy: Endpoint, header: str) -> None:
    """By default, with no METRICS_TOKEN set: an empty token is no token."""
    response = client.get("/metrics", headers={"Authorization": header} if header else {})

    assert (response.status_code, b"toolgauge_" in response.content) == (401, False)
    assert "WWW-Authenticate" in response.headers


def test_metrics_can_be_opened_by_a_setting(
    client: Client, healthy: Endpoint, settings: LazySettings
) -> None:
    """For a network that only the scraper reaches."""
    settings.METRICS_OPEN = True

    assert read_metrics(client)["toolgauge_endpoints"][()] == 1


def test_a_token_of_one_team_reads_the_metrics_of_its_endpoints(
    client: Client, healthy: Endpoint
) -> None:
    """No sample names or counts an endpoint of another team."""
    team = Team.objects.create(name="Search")
    make_endpoint(slug="ours", team=team, provider="anthropic")
    held = tokens.issue_token(name="scraper", scopes=[Scope.READ], by=None, team=team)
    whole = tokens.issue_token(name="scraper", scopes=[Scope.READ], by=None)

    text = scrape(client, held.text).content.decode()

    assert healthy.slug not in text
    assert 'endpoint="ours"' in text
    assert "toolgauge_endpoints 1.0" in text
    assert "openai" not in text
    assert healthy.slug in scrape(client, whole.text).content.decode()


def test_a_token_without_the_scope_reads_no_metrics(client: Client, healthy: Endpoint) -> None:
    """Nor one that was revoked; the answer says which scope it needs."""
    other = tokens.issue_token(name="t", scopes=[Scope.TELEMETRY], by=None)
    revoked = tokens.issue_token(name="t", scopes=[Scope.READ], by=None)
    ApiToken.objects.filter(pk=revoked.token.pk).update(revoked_at=Now())

    assert scrape(client, other.text).status_code == 403
    assert b"'read'" in scrape(client, other.text).content
    assert scrape(client, revoked.text).status_code == 401


def test_a_person_of_one_team_reads_its_metrics(client: Client, healthy: Endpoint) -> None:
    """In the browser: what the System page shows them, and nothing without a role."""
    team = Team.objects.create(name="Search")
    make_endpoint(slug="ours", team=team)
    client.force_login(make_person("bob", Role.VIEWER, team=team))

    text = client.get("/metrics").content.decode()

    assert 'endpoint="ours"' in text
    assert healthy.slug not in text
    client.force_login(make_person("nobody"))
    assert client.get("/metrics").status_code == 403


def scrape(client: Client, token: str) -> HttpResponse:
    return client.get("/metrics", headers={"Authorization": f"Bearer {token}"})  # type: ignore[return-value]
