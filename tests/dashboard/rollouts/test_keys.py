"""Two profiles of one endpoint: the one in force, and the one of a new key that waits in shadow."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from dashboard.core.errors import Refused
from dashboard.endpoints.services import endpoints
from dashboard.models import Endpoint, Incident, ModeSwitch, Profile
from dashboard.policy.modes_panel import read
from dashboard.trust import modes, rollout_requests
from health.modes import Mode
from probes.outcomes import Metric
from tests.dashboard.policy.builders import effective, let_pass
from tests.dashboard.rollouts.builders import body, degrade, put_in_place, ready, stage

pytestmark = pytest.mark.django_db


def change_key(endpoint: Endpoint, model: str = "m-2") -> Profile:
    endpoints.update(endpoint, key=None, forget_key=False, model=model)
    return endpoint.profile


def without_candidate(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name != "candidate"}


def test_a_new_key_in_shadow_leaves_what_callers_may_do_as_it_was(bea: User) -> None:
    """Its incidents and modes stay too; the policy only names the one that waits."""
    endpoint = ready("full")
    old = endpoint.profile
    modes.switch_on(old, Mode.NO_PARALLEL, by=bea, reason="by hand")
    incident = degrade(old, 1)
    before = body(endpoint)
    assert before["candidate"] is None

    new = change_key(endpoint)

    after = body(endpoint)
    assert without_candidate(after) == without_candidate(before)
    assert after["candidate"] == {"epoch": 2, "stage": "shadow"}
    assert after["profile"]["model"] == "m-1"
    assert (endpoint.profile_in_force, new.stage, new.in_force) == (old, "shadow", False)
    incident.refresh_from_db()
    assert incident.state == "open"


def test_a_new_key_takes_over_where_callers_had_no_tools(bea: User) -> None:
    """Nothing changes for them; a pinned mode goes along, so that no edit lets go of it."""
    endpoint = ready("rejected")
    modes.switch_on(endpoint.profile, Mode.NO_PARALLEL, by=bea, reason="by hand")
    modes.switch_on(endpoint.profile, Mode.STRICT_SCHEMA, by=bea, reason="for good", pinned=True)

    new = change_key(endpoint)

    assert endpoint.profile_in_force == new
    (kept,) = new.switches.on()
    assert (kept.mode, kept.pinned, kept.author, kept.reason) == (
        "strict_schema",
        True,
        bea,
        "for good",
    )
    assert body(endpoint)["candidate"] is None


def test_whatever_speaks_against_the_new_key_tightens_at_once(bea: User) -> None:
    """Requests reach it already: its incidents count, and say whose they are."""
    endpoint = ready("full")
    new = change_key(endpoint)

    incident = degrade(new, 2)

    found = body(endpoint)
    assert found["stage"] == "full"
    assert found["risk"]["allowed"] == ["read"]
    assert {each["incident"] for each in found["modes"]["automatic"]} == {incident.pk}
    assert all("Profile 2, which waits" in each["reason"] for each in found["modes"]["automatic"])
    shown = {each.mode for each in read(endpoint.profile_in_force, found).modes if each.automatic}
    assert Mode.READ_ONLY_TOOLS in shown
    assert stage(new) == "shadow"
    with pytest.raises(Refused, match="superseded"):
        modes.switch_on(new, Mode.NO_TOOLS, by=bea, reason="on the wrong one")


def test_the_old_key_gets_stale_and_says_why() -> None:
    """Nobody probes it any more, so after a while the policy is conservative."""
    endpoint = ready("full")
    change_key(endpoint)

    let_pass(timedelta(hours=13))

    found = body(endpoint)
    assert (found["stale"], found["risk"]["allowed"]) == (True, ["read"])
    assert any("the key has changed" in reason for reason in found["reasons"])


def test_promotion_switches_over_and_takes_manual_modes_along(ann: User, bea: User) -> None:
    """The older profile is history then: its incidents are over, its automatic modes gone."""
    endpoint = ready("full")
    old = endpoint.profile
    lasts = timedelta(hours=5)
    mine = modes.switch_on(old, Mode.NO_PARALLEL, by=bea, reason="by hand", lasts=lasts)
    modes.switch_on(old, Mode.STRICT_SCHEMA, by=bea, reason="for good", pinned=True)
    incident = degrade(old, 1)
    new = change_key(endpoint)
    put_in_place(new)
    assert rollout_requests.standing(new).is_met

    request = rollout_requests.ask(new, by=ann, reason="The new model is fine.")
    assert request.evidence["in_force"] == {"epoch": 1, "stage": "full"}
    assert request.evidence["modes"]["effective"] == ["no_parallel", "strict_schema"]
    rollout_requests.approve(request, by=bea, reason="yes")

    assert (endpoint.profile_in_force, stage(new)) == (new, "read_only")
    found = body(endpoint)
    assert (found["profile"]["epoch"], found["candidate"]) == (2, None)
    assert (found["stage"], effective(endpoint)) == ("read_only", ["no_parallel", "strict_schema"])
    carried = ModeSwitch.objects.on().get(profile=new, mode="no_parallel")
    assert (carried.author, carried.reason, carried.expires_at) == (bea, "by hand", mine.expires_at)
    assert not old.switches.on().exists()
    incident.refresh_from_db()
    assert incident.state == "superseded"
    with pytest.raises(Refused, match="history"):
        rollout_requests.step_back(old, to="shadow", by=bea, reason="why")


def test_a_third_key_ends_the_one_that_waited(ann: User) -> None:
    """Whatever happens to those that wait, the one in force stays; each key has one chance."""
    endpoint = ready("write")
    old = endpoint.profile
    second = change_key(endpoint)
    put_in_place(second)
    request = rollout_requests.ask(second, by=ann, reason="why")
    degrade(second, 1, metric=Metric.SCHEMA_FAILURE)

    third = change_key(endpoint, "m-3")

    request.refresh_from_db()
    assert (request.state, endpoint.profile_in_force) == ("voided", old)
    assert body(endpoint)["candidate"] == {"epoch": 3, "stage": "shadow"}
    assert body(endpoint)["modes"]["automatic"] == []
    assert Incident.objects.get().state == "superseded"
    with pytest.raises(Refused, match="key has changed"):
        rollout_requests.ask(old, by=ann, reason="for the old one")
    assert third.epoch == 3


def test_an_old_profile_that_is_stepped_back_to_nothing_makes_room(bea: User) -> None:
    """With no tools left to lose, callers follow the present key."""
    endpoint = ready("full")
    old = endpoint.profile
    modes.switch_on(old, Mode.NO_PARALLEL, by=bea, reason="by hand")
    new = change_key(endpoint)

    rollout_requests.step_back(old, to="shadow", by=bea, reason="Enough.")

    assert endpoint.profile_in_force == new
    assert (body(endpoint)["profile"]["epoch"], body(endpoint)["candidate"]) == (2, None)
    assert "no_parallel" in effective(endpoint)
