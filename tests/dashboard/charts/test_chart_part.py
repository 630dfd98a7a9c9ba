"""The chart of an endpoint: its ranges, title, table and export."""

from __future__ import annotations

import csv
import json
from datetime import datetime, timedelta
from io import StringIO

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.charts import services as notes
from dashboard.models import Endpoint, Run
from tests.dashboard.incidents.builders import degrade
from tests.factories import make_endpoint, make_finished_run
from tests.markup import assert_contains, assert_not_contains

HOUR = timedelta(hours=1)
PARTS = ("chart/", "chart/points/", "chart/export/", "notes/")


@pytest.fixture
def endpoint(db: None) -> Endpoint:
    return make_endpoint()


@pytest.mark.parametrize("part", PARTS)
def test_charts_need_a_sign_in_and_an_endpoint(
    client: Client, signed_in: Client, db: None, part: str
) -> None:
    """Anonymous users are redirected to the login; an unknown endpoint is 404."""
    anonymous = Client().get(f"/endpoints/steady/{part}")

    assert anonymous.headers["Location"].startswith("/login/")
    assert signed_in.get(f"/endpoints/nobody/{part}").status_code == 404


def test_a_custom_window_shows_its_runs_and_a_reset(signed_in: Client, endpoint: Endpoint) -> None:
    """Only runs that ended in it are shown; the axis and the form have its bounds."""
    now = timezone.now().replace(microsecond=0)
    for hours in (1, 5, 9):
        make_finished_run(endpoint, at=now - hours * HOUR)

    page = signed_in.get(f"/endpoints/steady/{_window(now - 6 * HOUR, now - 4 * HOUR)}&range=24h")

    left, right = page.context["figure"]["layout"]["xaxis"]["range"]
    assert page.context["points"] == 1
    assert datetime.fromisoformat(right) - datetime.fromisoformat(left) == 2 * HOUR
    assert_contains(page, "Reset zoom")
    assert_contains(page, 'data-reset="?metric=parse_success&amp;range=24h"')
    assert_contains(page, f'value="{now - 6 * HOUR:%Y-%m-%dT%H:%M}"')


def test_an_invalid_window_says_so_and_shows_the_range(
    signed_in: Client, endpoint: Endpoint
) -> None:
    """An invalid query string falls back to the range and is escaped."""
    make_finished_run(endpoint)

    page = signed_in.get("/endpoints/steady/?from=<script>&to=2026-11-03T12:00&range=24h")

    assert_contains(page, "could not be read")
    assert_contains(page, "Here are the last 24h instead.")
    assert_not_contains(page, "<script>&")
    assert page.context["points"] == 1


def test_the_title_describes_the_incident(signed_in: Client, endpoint: Endpoint) -> None:
    """It has both rates and the day, also in the label for screen readers."""
    incident = degrade(endpoint)
    after = incident.opened_at + HOUR
    make_finished_run(endpoint, passed=3, failed=7, at=after)

    page = signed_in.get("/endpoints/steady/?range=30d")

    day = f"{incident.opened_at.day} {incident.opened_at:%b}"
    title = page.context["card"].finding
    assert title.startswith("Parse success fell from 100% to ")
    assert title.endswith(f" on {day}; since then 30%, 3 of 10 trials")
    assert_contains(page, f'role="img" aria-label="{title}. 23 runs. The figures are in the table')


@pytest.mark.parametrize(
    ("failed", "title"),
    [
        (12, "Parse success fell from 100% to 40% between the halves of this range"),
        (1, "Parse success: 98%, 78 of 80 trials"),
    ],
)
def test_without_an_incident_the_title_only_claims_a_significant_change(
    signed_in: Client, endpoint: Endpoint, failed: int, title: str
) -> None:
    """A single failure is no change; the title is then the rate with its denominator."""
    for hours, bad in ((8, 0), (6, 0), (3, failed), (1, failed)):
        at = timezone.now() - hours * HOUR
        make_finished_run(endpoint, passed=20 - bad, failed=bad, at=at)

    assert_contains(signed_in.get("/endpoints/steady/chart/?range=24h"), f"{title}</h2>")


def test_the_points_are_also_a_table(signed_in: Client, endpoint: Endpoint) -> None:
    """A row per run with rate, counts and interval, or without a verdict."""
    run = make_finished_run(endpoint, passed=7, failed=3)
    make_finished_run(endpoint, passed=0, void=4)

    page = signed_in.get("/endpoints/steady/chart/points/?range=24h")

    assert_contains(page, "2 points, the newest first.")
    assert_contains(page, f'<a href="/runs/{run.pk}/">run {run.pk}</a>')
    assert_contains(page, '<td class="num">70%</td><td class="num">7/10</td>')
    assert_contains(page, "no verdict")
    assert_contains(
        signed_in.get("/endpoints/steady/chart/points/?range=1h&metric=leak"), "1 point,"
    )


def test_the_shown_points_are_exported(signed_in: Client, endpoint: Endpoint) -> None:
    """CSV and JSON have the same points, with counts and interval."""
    make_finished_run(endpoint, passed=7, failed=3)
    make_finished_run(endpoint, at=timezone.now() - 30 * HOUR)

    csv_file = signed_in.get("/endpoints/steady/chart/export/?range=24h&format=csv")
    json_file = signed_in.get("/endpoints/steady/chart/export/?range=24h&format=json")

    (row,) = csv.DictReader(StringIO(csv_file.content.decode()))
    (point,) = json.loads(json_file.content)["points"]
    assert csv_file.headers["Content-Disposition"].endswith('filename="steady-parse_success.csv"')
    assert (row["numerator"], row["denominator"], row["lane"]) == ("7", "10", "probe")
    assert (point["rate"], point["low"]) == (0.7, pytest.approx(0.39, abs=0.01))


def test_nothing_exported_is_a_formula(signed_in: Client) -> None:
    """A currency is free text, and a spreadsheet must not run it."""
    endpoint = make_endpoint(price_input=1, price_output=2, currency="=1+1")
    make_finished_run(endpoint, requests=5, input_tokens=100)

    csv_file = signed_in.get("/endpoints/steady/chart/export/?metric=cost")

    (row,) = csv.DictReader(StringIO(csv_file.content.decode()))
    assert row["currency"] == "'=1+1"


@pytest.mark.parametrize("metric", ["parse_success", "latency"])
def test_more_rows_need_no_more_count_queries(
    signed_in: Client, endpoint: Endpoint, metric: str
) -> None:
    """The number of queries does not depend on the number of runs and notes."""
    make_finished_run(endpoint, at=timezone.now() - 40 * HOUR, requests=5, latency_p50_ms=5)
    notes.add_note(endpoint, at=None, text="first", by=None)
    few = _count_queries(signed_in, metric)
    for hours in range(1, 30):
        make_finished_run(endpoint, at=timezone.now() - hours * HOUR, requests=5)
        notes.add_note(endpoint, at=None, text="more", by=None)
    Run.objects.update(suite_version="other")

    assert _count_queries(signed_in, metric) == few


def _count_queries(client: Client, metric: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        client.get(f"/endpoints/steady/chart/?range=7d&metric={metric}")
    return len(queries)


def _window(start: datetime, end: datetime) -> str:
    return f"?from={start:%Y-%m-%dT%H:%M:%SZ}&to={end:%Y-%m-%dT%H:%M:%SZ}"
