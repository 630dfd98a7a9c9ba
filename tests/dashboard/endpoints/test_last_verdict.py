"""Runs that end without looking at the endpoint leave its last verdict; a refusal is a status."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.endpoints.summary import read_summary
from dashboard.models import Endpoint, Run
from dashboard.runs import services as runs
from health.status import Status
from probes.outcomes import Finding, FindingKind, Outcome
from tests.dashboard.runs.builders import build_attempt, complete_run
from tests.factories import make_endpoint, make_finished_run
from tests.markup import assert_contains

pytestmark = pytest.mark.django_db


def read_status(endpoint: Endpoint) -> Status:
    return read_summary(endpoint, timezone.now()).status


def test_a_cancelled_run_leaves_the_verdict() -> None:
    """Whoever cancels a run wants no other status."""
    endpoint = make_endpoint()
    good = make_finished_run(endpoint)
    run = runs.request_run(endpoint, by=None)

    assert runs.cancel_run(run, by="ann")

    summary = read_summary(endpoint, timezone.now())
    assert (summary.status, summary.last_run_id) == (Status.HEALTHY, good.pk)


def test_a_spent_budget_leaves_the_verdict() -> None:
    """A run that our own budget kept from starting says nothing about the endpoint."""
    endpoint = make_endpoint(daily_requests=1)
    make_finished_run(endpoint)
    runs.request_run(endpoint, by=None)
    lease = runs.claim_run(owner="me")
    assert lease
    assert runs.start_run(lease) is None

    assert Run.objects.get(pk=lease.run_id).void_kind == "over_budget"
    assert read_status(endpoint) is Status.HEALTHY


def test_a_cancelled_run_leaves_the_figures_of_the_comparison(signed_in: Client) -> None:
    """The newest run with a verdict is compared."""
    endpoint = make_endpoint()
    make_finished_run(endpoint, passed=7, failed=3)
    runs.cancel_run(runs.request_run(endpoint, by=None), by="ann")

    assert_contains(signed_in.get("/compare/?span=last"), "70%")


@pytest.mark.parametrize(
    ("kind", "status", "headline"),
    [
        ("auth_rejected", Status.REFUSED, "Refused: the API key was rejected (401 or 403)"),
        ("not_found", Status.REFUSED, "Refused: no such model or path (404)"),
        ("provider_error", Status.REFUSED, "Refused: every request was rejected"),
        ("redirected", Status.REFUSED, "Refused: the URL redirects elsewhere (3xx)"),
        ("unreachable", Status.UNREACHABLE, "Unreachable: no connection"),
        ("timed_out", Status.UNREACHABLE, "Unreachable: no answer in time"),
        ("overloaded", Status.UNREACHABLE, "Unreachable: only server errors (5xx)"),
        ("rate_limited", Status.NO_VERDICT, "The last run came to no verdict"),
    ],
)
def test_an_endpoint_that_gives_no_answer_has_a_status_of_its_own(
    signed_in: Client, kind: str, status: Status, headline: str
) -> None:
    """On the endpoint page, in the fleet and for Prometheus."""
    endpoint = make_endpoint()
    finding = Finding(FindingKind(kind), "The endpoint said no.")
    complete_run(
        *(build_attempt(n, Outcome.VOID, findings=(finding,), verdicts=()) for n in (1, 2))
    )

    assert read_status(endpoint) is status
    assert signed_in.get("/endpoints/steady/").context["headline"] == headline
    name = status.value.replace(" ", "_")
    assert_contains(
        signed_in.get("/metrics"),
        f'toolgauge_endpoint_status{{endpoint="steady",status="{name}"}} 1.0',
    )


def test_the_fleet_counts_and_filters_them(signed_in: Client) -> None:
    """The headline does not say that nothing is wrong."""
    make_finished_run(make_endpoint(slug="lost"), passed=0, void=3, void_kind="unreachable")
    make_finished_run(make_endpoint(slug="shut"), passed=0, void=3, void_kind="not_found")
    make_finished_run(make_endpoint(slug="fine"))

    page = signed_in.get("/?status=refused")

    text = " ".join(page.content.decode().split())
    assert "2 of 3 endpoints give no answer: 1 unreachable, 1 refused." in text
    assert "shut" in text
    assert '<span class="status refused">' in text
