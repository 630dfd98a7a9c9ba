"""Latency, tokens and cost: recorded when a run ends, shown without reading attempts."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.charts import run_costs
from dashboard.core.time_range import parse_window
from dashboard.models import Run
from probes.messages import Usage
from probes.outcomes import Outcome
from tests.dashboard.runs.builders import build_attempt, complete_run
from tests.factories import make_attempt, make_endpoint, make_finished_run
from tests.markup import assert_contains

HOUR = timedelta(hours=1)


@pytest.mark.django_db(transaction=True)
def test_the_end_of_a_run_records_its_latency_and_tokens() -> None:
    """They are computed from the attempts of the run."""
    make_endpoint()
    slow = build_attempt(2, latency_ms=900)
    lost = build_attempt(3, Outcome.FAIL, latency_ms=400, usage=Usage(20, 7))

    run = complete_run(build_attempt(1), slow, lost)

    run.refresh_from_db()
    assert (run.latency_p50_ms, run.latency_p95_ms) == (400, 900)
    assert (run.lost_tokens, run.lost_ms) == (27, 400)


@pytest.mark.django_db(transaction=True)
def test_the_migration_fills_in_earlier_runs() -> None:
    """From the attempts that still exist; a run without any has no data."""
    endpoint = make_endpoint()
    old, bare = make_finished_run(endpoint), make_finished_run(endpoint)
    for trial, (outcome, latency) in enumerate([("pass", 100), ("fail", 300), ("void", 9000)]):
        make_attempt(old, trial=trial, outcome=outcome, latency_ms=latency, input_tokens=10)
    call_command("migrate", "dashboard", "0011_notes_prices_effort", verbosity=0)

    call_command("migrate", verbosity=0)

    old.refresh_from_db()
    bare.refresh_from_db()
    assert (old.latency_p50_ms, old.latency_p95_ms) == (100, 300)
    assert (old.lost_tokens, old.lost_ms) == (20, 9300)
    assert bare.lost_ms is None


def test_titles_summarise_latency_and_tokens(signed_in: Client) -> None:
    """The title has the figures and the number of runs."""
    endpoint = make_endpoint()
    for hours, median in ((1, 200), (2, 400), (3, 300)):
        figures = {"latency_p50_ms": median, "latency_p95_ms": 2000, "input_tokens": 1000}
        costs = {"requests": 9, "output_tokens": 50, "lost_tokens": 5, **figures}
        make_finished_run(endpoint, at=timezone.now() - hours * HOUR, **costs)

    latency = signed_in.get("/endpoints/steady/?metric=latency")
    tokens = signed_in.get("/endpoints/steady/?metric=tokens")

    assert_contains(latency, "within 0.30 s, 95 % within 2.00 s (median of 3 runs)")
    assert_contains(tokens, "3,000 tokens in, 150 out in 3 runs; 15 went into attempts")
    assert latency.context["points"] == 3


def test_without_a_price_the_cost_chart_offers_to_set_one(signed_in: Client) -> None:
    """A price also applies to earlier runs."""
    endpoint = make_endpoint()
    make_finished_run(endpoint, requests=9, input_tokens=1_000_000, output_tokens=500_000)
    assert_contains(signed_in.get("/endpoints/steady/?metric=cost"), "Set a price")

    endpoint.price_input, endpoint.price_output = Decimal("0.4"), Decimal(2)
    endpoint.save(update_fields=["price_input", "price_output"])

    page = signed_in.get("/endpoints/steady/?metric=cost")
    assert_contains(page, "1.40 USD for 1 run, 1.4000 a run")
    assert_contains(page, "0.4 USD a million tokens in, 2 USD out")


def test_a_range_without_responses_says_so(signed_in: Client) -> None:
    """The page shows a message instead of an empty chart."""
    make_endpoint()

    page = signed_in.get("/endpoints/steady/?metric=latency")

    assert_contains(page, "No run that ended in this range got an answer.")


def test_many_runs_are_grouped_by_time_step(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens are summed and latencies are medians, in a constant number of queries."""
    monkeypatch.setattr("dashboard.charts.run_history.MAX_RUNS", 3)
    endpoint = make_endpoint()
    at = timezone.now().replace(minute=0, second=0, microsecond=0) - 30 * HOUR
    for minutes, latency in enumerate((100, 900, 200, 300, 400)):
        figures = {"latency_p50_ms": latency, "latency_p95_ms": latency, "input_tokens": 10}
        make_finished_run(endpoint, at=at + timedelta(minutes=minutes), requests=1, **figures)

    with CaptureQueriesContext(connection) as queries:
        (step,) = run_costs.read_run_costs(endpoint, parse_window({"range": "30d"}, timezone.now()))

    assert (step.runs, step.input_tokens, step.latency_p50_ms) == (5, 50, 300)
    assert step.step == 2 * HOUR
    assert len(queries) == 3


def test_prices_are_edited_in_the_form(signed_in: Client) -> None:
    """Both are optional and must not be negative."""
    endpoint = make_endpoint()
    form = signed_in.get("/endpoints/steady/edit/").context["form"]
    fields = {name: form[name].value() for name in form.fields if form[name].value()}

    refused = signed_in.post("/endpoints/steady/edit/", {**fields, "price_input": "-1"})
    signed_in.post("/endpoints/steady/edit/", {**fields, "price_input": "0.25", "currency": "EUR"})

    endpoint.refresh_from_db()
    assert "price_input" in refused.context["form"].errors
    assert (endpoint.price_input, endpoint.price_output) == (Decimal("0.25"), None)
    assert endpoint.currency == "EUR"
    assert not Run.objects.exists()
