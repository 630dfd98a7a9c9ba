from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.models import GateVersion, RolloutRequest
from dashboard.models.people import Role
from health.gates import DEFAULTS, PROMOTION_STAGES
from probes.outcomes import Metric
from tests.dashboard.rollouts.profile_builders import ease_gates, make_ready, make_request
from tests.factories import make_person
from tests.markup import assert_contains, assert_not_contains

URL = "/settings/gates/"


@pytest.fixture
def admin(client: Client, db: None) -> Client:
    client.force_login(User.objects.create_superuser("root"))
    return client


def form_data(page: Any, **over: str) -> dict[str, Any]:
    """The form as it would be submitted, with some fields replaced."""
    form = page.context["form"]
    fields = {
        field.html_name: field.value()
        for stage in form.stages
        for field in stage
        if field.value() is not None and field.value() is not False
    }
    return {**fields, "seen": page.context["seen"], "reason": "we learned", **over}


def test_an_administrator_changes_the_gates_and_sees_the_diff(admin: Client) -> None:
    """A change creates a version that is listed with its reason and diff."""
    page = admin.get(URL)

    changes = {"write-runs": "25", "full-rate_schema_failure": "12.5", "full-live_wanted": "on"}
    saved = admin.post(URL, form_data(page, **changes), follow=True)

    assert_contains(page, "The gates are those that Toolgauge came with.")
    assert_contains(saved, "These gates hold from now on.")
    assert_contains(saved, "we learned")
    text = re.sub(r"<[^>]+>|\s+", " ", saved.content.decode())
    assert "Write · Runs: at least 20 → at least 25" in re.sub(r"\s+", " ", text)
    _version, gates = GateVersion.current()
    assert gates.by_stage["write"].runs == 25
    assert gates.by_stage["full"].rates[Metric.SCHEMA_FAILURE] == 0.875
    assert gates.by_stage["full"].live_wanted
    assert gates.by_stage["read_only"] == DEFAULTS.by_stage["read_only"]


def test_the_condition_of_an_ordinary_client_can_be_turned_off(admin: Client) -> None:
    """For one stage, with a diff; the others keep it."""
    page = admin.get(URL)
    data = form_data(page)
    assert data.pop("read_only-ordinary_client")

    saved = admin.post(URL, data, follow=True)

    assert_contains(page, "An ordinary SDK must work")
    text = re.sub(r"<[^>]+>|\s+", " ", saved.content.decode())
    assert "Read only · Ordinary SDK: must work → not needed" in re.sub(r"\s+", " ", text)
    _version, gates = GateVersion.current()
    assert [gates.by_stage[stage].ordinary_client for stage in PROMOTION_STAGES] == [
        False,
        True,
        True,
    ]


def test_errors_are_beside_their_fields_and_nothing_is_saved(admin: Client) -> None:
    """Invalid values, a missing reason, no change and a stale version are refused."""
    page = admin.get(URL)
    invalid = {"write-runs": "-1", "full-rate_parse_success": "100", "full-trials": "many"}

    refused = admin.post(URL, form_data(page, reason="", **invalid))
    unchanged = admin.post(URL, form_data(page))
    ease_gates()
    stale = admin.post(URL, form_data(page, **{"write-runs": "25"}))

    assert_contains(refused, "Nothing was saved")
    assert_contains(refused, "From 0 to 99 percent.")
    assert_contains(refused, "Say why")
    with_errors = [form for form in refused.context["form"].stages if form.errors]
    assert [(form.stage, sorted(form.errors)) for form in with_errors] == [
        ("write", ["runs"]),
        ("full", ["rate_parse_success", "trials"]),
    ]
    assert_contains(unchanged, "nothing was changed")
    assert_contains(stale, "Somebody has changed the gates since")
    assert GateVersion.objects.count() == 1


def test_a_viewer_reads_the_gates_and_saving_voids_pending_requests(admin: Client) -> None:
    """A viewer sees no form; the form warns how many requests saving would void."""
    ease_gates()
    request = make_request(make_ready(), make_person("alice", Role.OPERATOR))
    viewer, page = Client(), admin.get(URL)
    viewer.force_login(make_person("vera", Role.VIEWER))

    read_only = viewer.get(URL)
    admin.post(URL, form_data(page, **{"write-runs": "9"}))

    assert_contains(read_only, "Administrators change them.")
    assert_not_contains(read_only, "Save the gates")
    assert viewer.post(URL, form_data(page)).status_code == 403
    assert_contains(page, "Saving voids 1 request that waits for a decision")
    request.refresh_from_db()
    assert request.state == RolloutRequest.State.VOIDED
