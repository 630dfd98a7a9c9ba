"""Two profiles of one endpoint: the one in force, and a candidate for a new key in shadow."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.test import Client

from dashboard.core.errors import Refused
from dashboard.endpoints.services import endpoints
from dashboard.models import Endpoint, Incident, ModeSwitch, Profile
from dashboard.policy.modes_panel import read_modes_panel
from dashboard.runs.services import request_run
from dashboard.trust import modes, rollout_requests
from dashboard.trust.profiles import put_in_force, record_engine_facts
from health.modes import Mode
from probes.fingerprint import EngineFacts
from probes.outcomes import Metric
from tests.dashboard.policy.builders import effective_modes, move_into_past
from tests.dashboard.rollouts.builders import (
    degrade,
    make_profile_ready,
    make_ready_endpoint,
    policy_body,
    read_stage,
    settle_endpoint,
)
from tests.dashboard.runs.builders import start_next_run

pytestmark = pytest.mark.django_db


def change_key(endpoint: Endpoint, model: str = "m-2") -> Profile:
    endpoints.update(endpoint, key=None, forget_key=False, model=model)
    return endpoint.profile


def without_candidate(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "candidate"}


def test_a_new_key_in_shadow_leaves_what_callers_may_do_as_it_was(bea: User) -> None:
    """Incidents and modes stay too; the policy only adds the candidate."""
    endpoint = make_ready_endpoint("full")
    old = endpoint.profile
    modes.switch_on(old, Mode.NO_PARALLEL, by=bea, reason="by hand")
    incident = degrade(old, 1)
    before = policy_body(endpoint)
    assert before["candidate"] is None

    new = change_key(endpoint)

    after = policy_body(endpoint)
    assert without_candidate(after) == without_candidate(before)
    assert after["candidate"] == {
        "epoch": 2,
        "stage": "shadow",
        "target": {**after["target"], "model": "m-2"},
        "changed_by": "operator",
    }
    assert after["target"]["model"] == "m-1"
    assert after["profile"]["model"] == "m-1"
    assert (endpoint.profile_in_force, new.stage, new.in_force) == (old, "shadow", False)
    incident.refresh_from_db()
    assert incident.state == "open"


def test_another_template_is_conservative_at_once() -> None:
    """Callers already talk to what the vendor changed: nothing waits for a promotion."""
    endpoint = make_ready_endpoint("full")
    Profile.objects.filter(endpoint=endpoint).update(chat_template_hash="a" * 64)

    report_engine(endpoint, EngineFacts("b" * 64, {}))

    body = policy_body(endpoint)
    assert (body["candidate"]["epoch"], body["candidate"]["changed_by"]) == (2, "vendor")
    assert body["candidate"]["target"] == body["target"]
    assert body["risk"]["allowed"] == ["read"]
    assert any("The vendor changed the chat template" in reason for reason in body["reasons"])


def test_another_engine_is_conservative_until_a_run_has_measured_it() -> None:
    """From the moment that it is reported, before the first probe of that run."""
    endpoint = make_ready_endpoint("full")
    Profile.objects.filter(endpoint=endpoint).update(facts_seen={"engine": ["b1"]})

    report_engine(endpoint, EngineFacts("", {"engine": "b2"}))

    body = policy_body(endpoint)
    assert body["risk"]["allowed"] == ["read"]
    assert any("The vendor changed the engine" in reason for reason in body["reasons"])
    Profile.objects.filter(endpoint=endpoint).update(verified_at=Now())
    settle_endpoint(endpoint)
    assert policy_body(endpoint)["risk"]["allowed"] == ["read", "write", "dangerous"]


def report_engine(endpoint: Endpoint, engine: EngineFacts) -> None:
    """Start a run whose endpoint reports these facts."""
    request_run(endpoint, by=None)
    lease = start_next_run()
    record_engine_facts(lease, engine)


def test_the_old_model_name_resumes_its_profile() -> None:
    """A typo in the model name costs nothing: no third profile, and the measurements are back."""
    endpoint = make_ready_endpoint("full")
    old, before = endpoint.profile, policy_body(endpoint)
    typo = change_key(endpoint, "m-1-typo")

    back = change_key(endpoint, "m-1")

    assert (back.pk, back.epoch, back.stage, back.in_force) == (old.pk, 1, "full", True)
    assert endpoint.profiles.count() == 2
    assert policy_body(endpoint) == before
    typo.refresh_from_db()
    assert typo.ended_at is not None
    endpoint.refresh_from_db()
    assert (endpoint.next_trigger, endpoint.onboarding_left) == ("key_change", 0)


def test_the_next_new_key_gets_a_number_of_its_own() -> None:
    """After a return to an older profile, epochs are still given once."""
    endpoint = make_ready_endpoint("full")
    change_key(endpoint, "m-2")
    change_key(endpoint, "m-1")

    assert change_key(endpoint, "m-3").epoch == 3
    assert change_key(endpoint, "m-2").epoch == 2


def test_a_resumed_profile_does_not_take_force_from_another() -> None:
    """Trust does not come back by itself: the profile waits in shadow with its measurements."""
    endpoint = make_ready_endpoint("full")
    first = endpoint.profile
    second = change_key(endpoint, "m-2")
    Profile.objects.filter(pk=second.pk).update(stage="write")
    put_in_force(second)

    back = change_key(endpoint, "m-1")

    assert (back.pk, back.stage, back.in_force) == (first.pk, "shadow", False)
    assert back.capabilities == first.capabilities
    body = policy_body(endpoint)
    assert (body["profile"]["model"], body["stage"]) == ("m-2", "write")


def test_a_rejected_profile_comes_back_rejected() -> None:
    """Another name and back does not undo a rejection."""
    endpoint = make_ready_endpoint("rejected")
    change_key(endpoint, "m-2")

    back = change_key(endpoint, "m-1")

    assert (back.epoch, back.stage, back.in_force) == (1, "rejected", True)


def test_the_page_of_a_resumed_profile_shows_it(signed_in: Client) -> None:
    """The current profile is the one on the page, not the one with the highest number."""
    endpoint = make_ready_endpoint("full")
    change_key(endpoint, "m-2")
    change_key(endpoint, "m-1")

    page = signed_in.get(f"/endpoints/{endpoint.slug}/")

    assert page.context["profile"].epoch == 1


def test_a_new_key_is_in_force_at_once_where_callers_had_no_tools(bea: User) -> None:
    """Pinned modes move to the new profile, so that an edit cannot release them."""
    endpoint = make_ready_endpoint("rejected")
    modes.switch_on(endpoint.profile, Mode.NO_PARALLEL, by=bea, reason="by hand")
    modes.switch_on(endpoint.profile, Mode.STRICT_SCHEMA, by=bea, reason="for good", pinned=True)

    new = change_key(endpoint)

    assert endpoint.profile_in_force == new
    (switch,) = new.switches.on()
    assert (switch.mode, switch.pinned, switch.author, switch.reason) == (
        "strict_schema",
        True,
        bea,
        "for good",
    )
    assert policy_body(endpoint)["candidate"] is None


def test_whatever_speaks_against_the_new_key_tightens_at_once(bea: User) -> None:
    """Incidents of the candidate tighten the policy, and the reason names its profile."""
    endpoint = make_ready_endpoint("full")
    new = change_key(endpoint)

    incident = degrade(new, 2)

    body = policy_body(endpoint)
    assert body["stage"] == "full"
    assert body["risk"]["allowed"] == ["read"]
    assert {each["incident"] for each in body["modes"]["automatic"]} == {incident.pk}
    assert all("Profile 2, which waits" in each["reason"] for each in body["modes"]["automatic"])
    panel = read_modes_panel(endpoint.profile_in_force, body)
    assert Mode.READ_ONLY_TOOLS in {each.mode for each in panel.modes if each.automatic}
    assert read_stage(new) == "shadow"
    with pytest.raises(Refused, match="superseded"):
        modes.switch_on(new, Mode.NO_TOOLS, by=bea, reason="on the wrong one")


def test_the_old_key_becomes_stale_with_a_reason() -> None:
    """It is no longer probed, so its policy becomes conservative."""
    endpoint = make_ready_endpoint("full")
    change_key(endpoint)

    move_into_past(timedelta(hours=13))

    body = policy_body(endpoint)
    assert (body["stale"], body["risk"]["allowed"]) == (True, ["read"])
    assert any("the key has changed" in reason for reason in body["reasons"])


def test_promotion_puts_the_candidate_in_force_with_its_manual_modes(ann: User, bea: User) -> None:
    """The older profile ends: its incidents are superseded and its automatic modes are off."""
    endpoint = make_ready_endpoint("full")
    old = endpoint.profile
    lasts = timedelta(hours=5)
    manual = modes.switch_on(old, Mode.NO_PARALLEL, by=bea, reason="by hand", lasts=lasts)
    modes.switch_on(old, Mode.STRICT_SCHEMA, by=bea, reason="for good", pinned=True)
    incident = degrade(old, 1)
    new = change_key(endpoint)
    make_profile_ready(new)
    assert rollout_requests.read_gate_result(new).is_met

    request = rollout_requests.request_promotion(new, by=ann, reason="The new model is fine.")
    assert request.evidence["in_force"] == {"epoch": 1, "stage": "full"}
    assert request.evidence["modes"]["effective"] == ["no_parallel", "strict_schema"]
    rollout_requests.approve(request, by=bea, reason="yes")

    assert (endpoint.profile_in_force, read_stage(new)) == (new, "read_only")
    body = policy_body(endpoint)
    assert (body["profile"]["epoch"], body["candidate"]) == (2, None)
    assert (body["stage"], effective_modes(endpoint)) == (
        "read_only",
        ["no_parallel", "strict_schema"],
    )
    carried = ModeSwitch.objects.on().get(profile=new, mode="no_parallel")
    assert (carried.author, carried.reason, carried.expires_at) == (
        bea,
        "by hand",
        manual.expires_at,
    )
    assert not old.switches.on().exists()
    incident.refresh_from_db()
    assert incident.state == "superseded"
    with pytest.raises(Refused, match="history"):
        rollout_requests.step_back(old, to="shadow", by=bea, reason="why")


def test_a_third_key_replaces_the_candidate(ann: User) -> None:
    """The profile in force stays, and the request and incidents of the old candidate end."""
    endpoint = make_ready_endpoint("write")
    old = endpoint.profile
    second = change_key(endpoint)
    make_profile_ready(second)
    request = rollout_requests.request_promotion(second, by=ann, reason="why")
    degrade(second, 1, metric=Metric.SCHEMA_FAILURE)

    third = change_key(endpoint, "m-3")

    request.refresh_from_db()
    assert (request.state, endpoint.profile_in_force) == ("voided", old)
    candidate = policy_body(endpoint)["candidate"]
    assert (candidate["epoch"], candidate["target"]["model"]) == (3, "m-3")
    assert policy_body(endpoint)["modes"]["automatic"] == []
    assert Incident.objects.get().state == "superseded"
    with pytest.raises(Refused, match="key has changed"):
        rollout_requests.request_promotion(old, by=ann, reason="for the old one")
    assert third.epoch == 3


def test_stepping_an_old_profile_back_to_shadow_puts_the_new_one_in_force(bea: User) -> None:
    """Callers have no tools to lose, so they follow the current profile."""
    endpoint = make_ready_endpoint("full")
    old = endpoint.profile
    modes.switch_on(old, Mode.NO_PARALLEL, by=bea, reason="by hand")
    new = change_key(endpoint)

    rollout_requests.step_back(old, to="shadow", by=bea, reason="Enough.")

    assert endpoint.profile_in_force == new
    assert (policy_body(endpoint)["profile"]["epoch"], policy_body(endpoint)["candidate"]) == (
        2,
        None,
    )
    assert "no_parallel" in effective_modes(endpoint)
