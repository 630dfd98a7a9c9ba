"""The chart of an endpoint: ranges, its title, its table, and what it exports."""

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
def test_charts_ask_for_a_sign_in_and_an_endpoint(
    client: Client, signed_in: Client, db: None, part: str
) -> None:
    """Strangers are sent to sign in; what nobody registered is not found."""
    anonymous = Client().get(f"/endpoints/steady/{part}")

    assert anonymous.headers["Location"].startswith("/login/")
    assert signed_in.get(f"/endpoints/nobody/{part}").status_code == 404


def test_a_window_by_hand_shows_its_runs_and_a_way_back(
    signed_in: Client, endpoint: Endpoint
) -> None:
    """Only what ended in it, on an axis that is the window; the form holds it."""
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


def test_a_window_without_sense_says_so_and_shows_its_range(
    signed_in: Client, endpoint: Endpoint
) -> None:
    """A mistyped address still shows something, and nothing of it runs."""
    make_finished_run(endpoint)

    page = signed_in.get("/endpoints/steady/?from=<script>&to=2026-11-03T12:00&range=24h")

    assert_contains(page, "could not be read")
    assert_contains(page, "Here are the last 24h instead.")
    assert_not_contains(page, "<script>&")
    assert page.context["points"] == 1


def test_the_title_says_what_an_incident_found(signed_in: Client, endpoint: Endpoint) -> None:
    """From what, to what, and when; also where somebody cannot see the drawing."""
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
def test_without_an_incident_the_title_claims_only_what_the_intervals_bear(
    signed_in: Client, endpoint: Endpoint, failed: int, title: str
) -> None:
    """One failure more is no finding; then it is the rate with its denominator."""
    for hours, bad in ((8, 0), (6, 0), (3, failed), (1, failed)):
        at = timezone.now() - hours * HOUR
        make_finished_run(endpoint, passed=20 - bad, failed=bad, at=at)

    assert_contains(signed_in.get("/endpoints/steady/chart/?range=24h"), f"{title}</h2>")


def test_the_points_are_a_table_for_everybody(signed_in: Client, endpoint: Endpoint) -> None:
    """Rate, both counts and interval of each run; one without a verdict says so."""
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


def test_what_is_shown_is_exported(signed_in: Client, endpoint: Endpoint) -> None:
    """The same points, with both counts and the interval, as CSV and JSON."""
    make_finished_run(endpoint, passed=7, failed=3)
    make_finished_run(endpoint, at=timezone.now() - 30 * HOUR)

    lines = signed_in.get("/endpoints/steady/chart/export/?range=24h&format=csv")
    data = signed_in.get("/endpoints/steady/chart/export/?range=24h&format=json")

    (row,) = csv.DictReader(StringIO(lines.content.decode()))
    (point,) = json.loads(data.content)["points"]
    assert lines.headers["Content-Disposition"].endswith('filename="steady-parse_success.csv"')
    assert (row["numerator"], row["denominator"], row["lane"]) == ("7", "10", "probe")
    assert (point["rate"], point["low"]) == (0.7, pytest.approx(0.39, abs=0.01))


def test_nothing_exported_is_a_formula(signed_in: Client) -> None:
    """A currency is anybody's word; a spreadsheet must not run it."""
    endpoint = make_endpoint(price_input=1, price_output=2, currency="=1+1")
    make_finished_run(endpoint, requests=5, input_tokens=100)

    lines = signed_in.get("/endpoints/steady/chart/export/?metric=cost")

    (row,) = csv.DictReader(StringIO(lines.content.decode()))
    assert row["currency"] == "'=1+1"


@pytest.mark.parametrize("metric", ["parse_success", "latency"])
def test_more_rows_ask_no_more_queries(signed_in: Client, endpoint: Endpoint, metric: str) -> None:
    """Runs, notes and incidents: the part costs the same with one as with many."""
    make_finished_run(endpoint, at=timezone.now() - 40 * HOUR, requests=5, latency_p50_ms=5)
    notes.add_note(endpoint, at=None, text="first", by=None)
    few = _queries(signed_in, metric)
    for hours in range(1, 30):
        make_finished_run(endpoint, at=timezone.now() - hours * HOUR, requests=5)
        notes.add_note(endpoint, at=None, text="more", by=None)
    Run.objects.update(suite_version="other")

    assert _queries(signed_in, metric) == few


def _queries(client: Client, metric: str) -> int:
    with CaptureQueriesContext(connection) as asked:
        client.get(f"/endpoints/steady/chart/?range=7d&metric={metric}")
    return len(asked)


def _window(start: datetime, end: datetime) -> str:
    return f"?from={start:%Y-%m-%dT%H:%M:%SZ}&to={end:%Y-%m-%dT%H:%M:%SZ}"
