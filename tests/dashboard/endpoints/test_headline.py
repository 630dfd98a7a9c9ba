from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.models import Incident, Profile
from dashboard.rollouts.stage_panel import read_stage_panel
from dashboard.trust.text import format_day
from tests.dashboard.incidents.builders import degrade, freeze_baseline
from tests.factories import make_endpoint, make_finished_run
from tests.markup import assert_contains, assert_not_contains


def test_an_open_incident_is_the_headline(signed_in: Client) -> None:
    """The headline and title say which metric fell and when."""
    incident = degrade(make_endpoint())

    page = signed_in.get("/endpoints/steady/")

    finding = f"Parse success fell from 100% to 0% on {format_day(incident.opened_at)}"
    assert_contains(page, f"<title>steady: {finding} · Toolgauge</title>")
    assert page.context["headline"] == finding


def test_a_healthy_endpoint_shows_since_when(signed_in: Client) -> None:
    """With a baseline and no open incident, the headline shows the day since when."""
    endpoint = make_endpoint()
    freeze_baseline(endpoint, before=timezone.now() - timedelta(hours=1))

    assert _headline(signed_in) == f"Holds since {format_day(timezone.now())}"


def test_health_counts_from_the_end_of_the_last_incident(signed_in: Client) -> None:
    """The day is the end of the last incident."""
    endpoint = make_endpoint()
    ended = timezone.now() - timedelta(days=1)
    degrade(endpoint)
    Incident.objects.update(state="recovered", ended_at=ended)
    make_finished_run(endpoint)

    assert _headline(signed_in) == f"Holds since {format_day(ended)}"


def test_states_without_a_verdict_have_their_own_headline(signed_in: Client) -> None:
    """Unknown, inconclusive and stale endpoints are not shown as healthy."""
    endpoint = make_endpoint()
    assert _headline(signed_in) == "Not probed yet: the first run decides"

    make_finished_run(endpoint, at=timezone.now() - timedelta(days=3))
    assert _headline(signed_in) == "No run ended for 3 d: this may hold no longer"

    make_finished_run(endpoint, passed=0, void=2)
    assert _headline(signed_in) == "The last run came to no verdict"

    make_finished_run(endpoint, passed=1, failed=4)
    assert _headline(signed_in) == "4 of 5 calls could not be read in the last run"

    make_finished_run(endpoint)
    assert _headline(signed_in).startswith("Nothing is wrong so far, but too few trials")


def test_the_rollout_panel_says_what_is_missing(signed_in: Client) -> None:
    """The panel shows the stage and the missing criteria; no promotion can be requested."""
    make_endpoint()

    page = signed_in.get("/endpoints/steady/")

    assert_contains(page, "It is probed. Callers get no tools.")
    assert_contains(page, "What the next stage rests on: Read only")
    assert_contains(page, "Nobody has measured yet whether tool calls work")
    assert_not_contains(page, "Send the request")


@pytest.mark.parametrize(
    ("stage", "current", "following"),
    [
        ("shadow", "Shadow", "Read only"),
        ("write", "Write", "Full"),
        ("full", "Full", ""),
        ("rejected", "", "Read only"),
        ("rolled_back", "", "Write"),
    ],
)
def test_every_stage_has_its_step(stage: str, current: str, following: str, db: None) -> None:
    """The panel marks the stage of the profile; rejected and rolled back mark none."""
    endpoint = make_endpoint()
    Profile.objects.update(stage=stage)
    panel = read_stage_panel(endpoint, endpoint.profile)

    assert [each.name for each in panel.steps if each.is_now] == ([current] if current else [])
    assert panel.next_name == following
    assert panel.access


def test_an_open_incident_blocks_the_next_stage(signed_in: Client) -> None:
    """The criterion is not met and links to the incident."""
    incident = degrade(make_endpoint())

    page = signed_in.get("/endpoints/steady/")

    conditions = {each.text: each for each in page.context["rollout"].conditions}
    assert conditions["1 incident is open."].state == "not_met"
    assert conditions["1 incident is open."].address == f"/incidents/{incident.pk}/"
    assert page.context["rollout"].verdict == "Not yet: a condition is not met."


def _headline(client: Client) -> str:
    return str(client.get("/endpoints/steady/").context["headline"])
