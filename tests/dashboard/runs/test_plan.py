from __future__ import annotations

from decimal import Decimal

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.models import Run, Spend
from dashboard.runs import plan as probe_plan
from dashboard.runs import services as runs
from probes.suite import plan_trials
from tests.factories import make_endpoint, make_finished_run, make_run
from tests.markup import assert_contains, assert_not_contains

HTMX = {"HX-Request": "true"}
URL = "/endpoints/steady/probe/"


def test_the_plan_is_a_partial_and_a_page(signed_in: Client) -> None:
    """A dialog gets only the plan; without JavaScript it is a complete page."""
    make_endpoint()

    part, page = signed_in.get(URL, headers=HTMX), signed_in.get(URL)

    assert_not_contains(part, "<html")
    assert_contains(page, "<html")
    for response in (part, page):
        assert_contains(response, "Start the light run")
        assert_contains(response, f"{runs.price_ceiling('full').tokens:,}")
        assert_contains(response, f"<dd>{len(plan_trials('full'))}</dd>")
        assert_contains(response, "No daily budget is set")
    assert not Run.objects.exists()


def test_the_plan_of_an_unknown_endpoint_is_not_found(signed_in: Client) -> None:
    """An unknown slug is a 404."""
    assert signed_in.get("/endpoints/nobody/probe/").status_code == 404


def test_an_insufficient_budget_is_refused(signed_in: Client) -> None:
    """The plan shows the refusal instead of the button, and a POST is refused."""
    needed = runs.price_ceiling("full").requests
    endpoint = make_endpoint(daily_requests=needed)
    Spend.objects.create(endpoint=endpoint, day=timezone.now().date(), requests=1, tokens=0)

    page = signed_in.get(URL)
    partial = signed_in.post(URL, {"suite": "full"}, headers=HTMX)
    plain = signed_in.post(URL, {"suite": "full"}, follow=True)

    refusal = f"Today&#x27;s budget has {needed - 1} requests left, and this run may take {needed}."
    assert_contains(page, refusal)
    assert_not_contains(page, "Start the full run")
    assert_contains(page, "Start the light run")
    assert_contains(partial, refusal)
    assert_contains(plain, refusal)
    assert not Run.objects.exists()


@pytest.mark.django_db
def test_tokens_have_a_budget() -> None:
    """The plan is refused if it exceeds today's remaining tokens."""
    endpoint = make_endpoint(daily_tokens=10)

    planned = probe_plan.read_plan(endpoint).for_suite("light")

    assert "10 tokens left" in planned.refusal


def test_an_active_run_is_shown(signed_in: Client) -> None:
    """The plan shows the progress of the active run and links to it."""
    run = make_run(make_endpoint(daily_requests=1), planned=12)

    page = signed_in.get(URL)

    assert_contains(page, f"Run {run.pk} (light) is under way: 0 of 12 attempts are done.")
    assert_contains(page, f'href="/runs/{run.pk}/"')


@pytest.mark.django_db
def test_the_plan_has_the_cost_of_the_last_run() -> None:
    """Beside the maximum, the plan has tokens and duration of the last run."""
    endpoint = make_endpoint()
    make_finished_run(endpoint, input_tokens=900, output_tokens=100, requests=11)

    light, full = probe_plan.read_plan(endpoint).suites

    assert (light.last_tokens, light.last_duration) == (1000, "3 s")
    assert full.last_run is None


@pytest.mark.django_db
def test_money_is_shown_if_a_price_is_set() -> None:
    """Prices are per million tokens; the maximum counts every request at its largest."""
    prices = {"price_input": Decimal(1), "price_output": Decimal(10), "currency": "EUR"}
    endpoint = make_endpoint(**prices)
    make_finished_run(endpoint, input_tokens=900_000, output_tokens=100_000)

    planned = probe_plan.read_plan(endpoint).for_suite("light")

    assert planned.last_cost is not None
    assert planned.last_cost.text == "1.90 EUR"
    assert planned.cost is not None
    assert planned.cost.amount > 0
    assert probe_plan.read_plan(make_endpoint(slug="free")).for_suite("light").cost is None
