from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dashboard.models import Profile, RollupHour, Run, Spend
from health.observation_bits import PLACES
from probes.outcomes import Metric
from probes.secret import Secret
from probes.suite import plan_trials
from tests.factories import make_attempt, make_endpoint, make_finished_run, make_run
from tests.markup import assert_contains, assert_not_contains


def test_the_page_shows_facts_and_runs(signed_in: Client) -> None:
    """The page shows the configuration and the results of the runs."""
    key, options = Secret("sk-abcdefghijklmnop"), {"stop": "</script>"}
    endpoint = make_endpoint(model="qwen3", key=key, options=options)
    run = make_finished_run(endpoint, passed=4, failed=1)

    page = signed_in.get("/endpoints/steady/")

    assert_contains(page, "qwen3")
    assert_contains(page, "…mnop")
    assert_contains(page, "{&quot;stop&quot;: &quot;&lt;/script&gt;&quot;}")
    assert_contains(page, f'href="/runs/{run.pk}/"')
    assert_not_contains(page, "abcdefghij")


def test_an_unknown_endpoint_is_not_found(signed_in: Client) -> None:
    """An unknown slug is a 404 with the layout of the product."""
    page = signed_in.get("/endpoints/nobody/")

    assert_contains(page, "Not found", status_code=404)


@pytest.mark.parametrize(
    "part", ["", "runs/", "run/", "chart/", "edit/", "remove/", "probe/", "policy/", "modes/"]
)
def test_anonymous_users_see_no_endpoint(client: Client, db: None, part: str) -> None:
    """Every page and part of an endpoint requires a login."""
    make_endpoint()

    response = client.get(f"/endpoints/steady/{part}")

    assert response.status_code == 302
    assert response.headers["Location"].startswith("/login/")


@pytest.mark.parametrize("part", ["runs/", "run/?seen=old", "chart/"])
def test_parts_are_not_pages(signed_in: Client, part: str) -> None:
    """A part for htmx has no page layout."""
    make_finished_run(make_endpoint())

    response = signed_in.get(f"/endpoints/steady/{part}")

    assert response.status_code == 200
    assert_not_contains(response, "<html")


def test_the_chart_has_one_point_per_run_in_the_range(signed_in: Client) -> None:
    """The range of the query string selects the runs."""
    endpoint = make_endpoint()
    make_finished_run(endpoint, at=timezone.now() - timedelta(days=3))
    make_finished_run(endpoint)

    assert _points(signed_in.get("/endpoints/steady/?range=24h")) == 1
    assert _points(signed_in.get("/endpoints/steady/?range=7d")) == 2
    assert _points(signed_in.get("/endpoints/steady/?range=nonsense")) == 2


def test_a_chart_without_runs_says_so(signed_in: Client) -> None:
    """An empty range has a message, not an empty chart."""
    make_endpoint()

    page = signed_in.get("/endpoints/steady/")

    assert_contains(page, "No run that ended in this range has a trial of parse success")
    assert_not_contains(page, "data-chart")


def test_re_probe_queues_a_run_and_shows_it(signed_in: Client, person: User) -> None:
    """The response is the progress part of the requested run."""
    make_endpoint()

    response = signed_in.post(
        "/endpoints/steady/probe/", {"suite": "full"}, headers={"HX-Request": "true"}
    )

    run = Run.objects.get()
    assert (run.suite, run.requested_by) == ("full", person)
    assert_contains(response, f'hx-get="/runs/{run.pk}/progress/"')
    assert_contains(response, f"0 of {len(plan_trials('full'))} attempts")


def test_re_probe_works_without_scripts(signed_in: Client) -> None:
    """A plain form post redirects to the page."""
    make_endpoint()

    response = signed_in.post("/endpoints/steady/probe/", {"suite": "no such suite"})

    assert response.headers["Location"] == "/endpoints/steady/"
    assert Run.objects.get().suite == "light"


def test_re_probe_needs_a_post(signed_in: Client) -> None:
    """A link shows the plan and cannot start a run."""
    make_endpoint()

    assert_contains(signed_in.get("/endpoints/steady/probe/"), "Start the full run")
    assert not Run.objects.exists()


def test_progress_moves_and_stops(signed_in: Client) -> None:
    """The part is sent when an attempt is stored; after the end of the run it has no trigger."""
    run = make_run(make_endpoint())
    url, seen = f"/runs/{run.pk}/progress/", f"{run.pk}-queued-0"
    assert signed_in.get(url, {"seen": seen}).status_code == 204

    make_attempt(run)
    moved = signed_in.get(url, {"seen": seen})
    Run.objects.filter(pk=run.pk).update(state="finished", finished_at=timezone.now())
    ended = signed_in.get(url, {"seen": seen})

    assert_contains(moved, 'value="1"')
    assert _event(moved) == {"run-moved"}
    assert _event(ended) == {"run-ended"}
    assert_not_contains(ended, "hx-trigger")


def test_cancel_stops_the_run(signed_in: Client) -> None:
    """The button of the progress part abandons the run and says so."""
    run = make_run(make_endpoint())

    response = signed_in.post(f"/runs/{run.pk}/cancel/", headers={"HX-Request": "true"})

    run.refresh_from_db()
    assert run.state == "abandoned"
    assert_contains(response, "cancelled by alice")


def test_findings_of_the_last_run_are_counted(signed_in: Client) -> None:
    """The same finding in two attempts is one line with a count."""
    run = make_finished_run(make_endpoint(), passed=0, failed=2)
    finding = {"kind": "no_call", "message": "The model <b>wrote</b> text.", "path": ""}
    for trial in (1, 2):
        make_attempt(run, trial=trial, outcome="fail", findings=[finding])

    page = signed_in.get("/endpoints/steady/")

    assert_contains(page, "no call")
    assert_contains(page, "The model &lt;b&gt;wrote&lt;/b&gt; text.", count=1)
    assert_contains(page, "2 ×")


def _points(page: Any) -> int:
    match = re.search(r'data-points="(\d+)"', page.content.decode())
    return int(match[1]) if match else 0


def _event(response: Any) -> set[str]:
    return set(json.loads(response.headers["HX-Trigger"]))


def test_a_chart_of_many_runs_uses_rollups(
    signed_in: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above a limit of runs the chart shows rollups."""
    endpoint = make_endpoint()
    now = timezone.now()
    for hours in range(1, 5):
        run = make_finished_run(endpoint, at=now - timedelta(hours=hours))
        RollupHour.objects.create(
            profile_id=run.profile_id,
            metric=PLACES[Metric.PARSE_SUCCESS],
            lane=0,
            bucket=(now - timedelta(hours=hours)).replace(minute=0, second=0, microsecond=0),
            trials=10,
            failures=hours,
        )
    monkeypatch.setattr("dashboard.charts.run_history.MAX_RUNS", 3)

    page = signed_in.get("/endpoints/steady/?range=30d")

    assert_contains(page, " spans of 2h.")
    assert_contains(page, "So many runs are shown together, 2h at a time")


def test_the_page_shows_profiles_and_spend(signed_in: Client) -> None:
    """The page shows stage, fingerprint and budget, and escapes what the endpoint sent."""
    endpoint = make_endpoint(daily_requests=500)
    endpoint.profiles.update(ended_at=timezone.now(), model="old-model")
    Profile.objects.create(
        endpoint=endpoint,
        epoch=2,
        provider="openai",
        model="m-2",
        endpoint_url=endpoint.base_url,
        key_hash=b"k",
        chat_template_hash="abcdef" * 10,
        fingerprint={"engine": "<b>b100</b>"},
    )
    Spend.objects.create(endpoint=endpoint, day=timezone.now().date(), requests=1234, tokens=99_000)

    page = signed_in.get("/endpoints/steady/")

    assert_contains(page, "Profile 2")
    assert_contains(page, "Shadow")
    assert_contains(page, "&lt;b&gt;b100&lt;/b&gt;")
    assert_contains(page, "old-model")
    assert_contains(page, "1,234 of 500 requests")
    assert_contains(page, "99,000 tokens")
