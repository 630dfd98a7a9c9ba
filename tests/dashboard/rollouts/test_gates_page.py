from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.models import GateVersion, RolloutRequest
from dashboard.models.people import Role
from health.gates import DEFAULTS
from probes.outcomes import Metric
from tests.dashboard.rollouts.profile_builders import ease_gates, make_ready, make_request
from tests.factories import make_person
from tests.markup import assert_contains, assert_not_contains

URL = "/settings/gates/"


@pytest.fixture
def chief(client: Client, db: None) -> Client:
    client.force_login(User.objects.create_superuser("root"))
    return client


def filled(page: Any, **over: str) -> dict[str, Any]:
    """What the form would send as it stands, with something else in some fields."""
    form = page.context["form"]
    given = {
        field.html_name: field.value()
        for stage in form.stages
        for field in stage
        if field.value() is not None and field.value() is not False
    }
    return {**given, "seen": page.context["seen"], "reason": "we learned", **over}


def test_an_administrator_changes_the_gates_and_sees_what_changed(chief: Client) -> None:
    """Percent and hours as people say them; the version, its reason and the difference are kept."""
    page = chief.get(URL)

    sent = {"write-runs": "25", "full-rate_schema_failure": "12.5", "full-live_wanted": "on"}
    done = chief.post(URL, filled(page, **sent), follow=True)

    assert_contains(page, "The gates are those that Toolgauge came with.")
    assert_contains(done, "These gates hold from now on.")
    assert_contains(done, "we learned")
    text = re.sub(r"<[^>]+>|\s+", " ", done.content.decode())
    assert "Write · Runs: at least 20 → at least 25" in re.sub(r"\s+", " ", text)
    _version, now = GateVersion.current()
    assert now.by_stage["write"].runs == 25
    assert now.by_stage["full"].rates[Metric.SCHEMA_FAILURE] == 0.875
    assert now.by_stage["full"].live_wanted
    assert now.by_stage["read_only"] == DEFAULTS.by_stage["read_only"]


def test_mistakes_stand_beside_their_fields_and_nothing_is_saved(chief: Client) -> None:
    """No number, a rate beyond what can be reached, no reason, nothing changed, somebody faster."""
    page = chief.get(URL)
    wrong = {"write-runs": "-1", "full-rate_parse_success": "100", "full-trials": "many"}

    refused = chief.post(URL, filled(page, reason="", **wrong))
    same = chief.post(URL, filled(page))
    ease_gates()
    stale = chief.post(URL, filled(page, **{"write-runs": "25"}))

    assert_contains(refused, "Nothing was saved")
    assert_contains(refused, "From 0 to 99 percent.")
    assert_contains(refused, "Say why")
    named = [form for form in refused.context["form"].stages if form.errors]
    assert [(form.stage, sorted(form.errors)) for form in named] == [
        ("write", ["runs"]),
        ("full", ["rate_parse_success", "trials"]),
    ]
    assert_contains(same, "nothing was changed")
    assert_contains(stale, "Somebody has changed the gates since")
    assert GateVersion.objects.count() == 1


def test_others_read_the_gates_and_saving_voids_what_waits(chief: Client) -> None:
    """A viewer sees no form; whoever saves reads before how many requests it ends."""
    ease_gates()
    operator, viewer = make_person("alice", Role.OPERATOR), make_person("vera", Role.VIEWER)
    request = make_request(make_ready(), operator)
    seen, read = Client(), chief.get(URL)
    seen.force_login(viewer)

    told = seen.get(URL)
    chief.post(URL, filled(read, **{"write-runs": "9"}))

    assert_contains(told, "Administrators change them.")
    assert_not_contains(told, "Save the gates")
    assert seen.post(URL, filled(read)).status_code == 403
    assert_contains(read, "Saving voids 1 request that waits for a decision")
    request.refresh_from_db()
    assert request.state == RolloutRequest.State.VOIDED
