from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from dashboard.models import Incident, ModeSwitch
from dashboard.trust import modes
from health.modes import Mode
from tests.dashboard.api.client import Asking, error_of
from tests.dashboard.api.incidents import make_incident, switch_modes_on
from tests.dashboard.policy.builders import make_trusted_endpoint, move_into_past
from tests.factories import make_endpoint

PATH = "/endpoints/steady/modes"
BODY: dict[str, Any] = {"mode": "no_parallel", "reason": "trying", "lasts_s": 3600}


def policy(api: Asking) -> list[str]:
    effective: list[str] = api.get("/endpoints/steady/policy").json()["modes"]["effective"]
    return effective


def test_a_mode_is_switched_on_and_off(api: Asking) -> None:
    """By whoever made the token, for the time asked for; the policy follows at once."""
    make_trusted_endpoint()

    made = api.post(PATH, BODY)

    switch = made.json()
    assert (made.status_code, switch["mode"], switch["author"]) == (201, "no_parallel", "alice")
    times = [datetime.fromisoformat(switch[name]) for name in ("expires_at", "since")]
    assert abs(times[0] - times[1] - timedelta(hours=1)) < timedelta(seconds=1)
    assert api.get(PATH).json()["modes"] == [switch]
    assert policy(api) == ["no_parallel"]
    assert api.delete(f"{PATH}/{switch['id']}").status_code == 204
    assert (api.get(PATH).json()["modes"], policy(api)) == ([], [])


def test_a_mode_without_a_time_stays(api: Asking) -> None:
    """Until somebody switches it off."""
    make_trusted_endpoint()

    made = api.post(PATH, {"mode": "no_tools", "reason": "trying"})

    assert made.json()["expires_at"] is None


def test_a_mode_that_has_run_out_is_not_listed(api: Asking) -> None:
    """Although nobody has written down yet that it is over."""
    make_trusted_endpoint()
    api.post(PATH, BODY)
    move_into_past(timedelta(hours=2))

    assert api.get(PATH).json()["modes"] == []


@pytest.mark.parametrize(
    ("over", "field"),
    [
        ({"mode": "careful"}, "mode"),
        ({"lasts_s": 0}, "lasts_s"),
        ({"lasts_s": 10**9}, "lasts_s"),
        ({"lasts_s": "1h"}, "lasts_s"),
        ({"until": "tomorrow"}, "until"),
    ],
)
def test_a_malformed_wish_is_refused(api: Asking, over: dict[str, Any], field: str) -> None:
    """The answer names the field, and nothing is switched."""
    make_endpoint()

    answer = api.post(PATH, {**BODY, **over})

    assert answer.status_code == 422
    assert error_of(answer)["errors"][0]["field"] == field
    assert not ModeSwitch.objects.exists()


def test_a_reason_is_needed(api: Asking) -> None:
    """Others will want to know it."""
    make_endpoint()

    assert api.post(PATH, {**BODY, "reason": "  "}).status_code == 409


def test_a_mode_is_switched_on_by_hand_once(api: Asking) -> None:
    """The second one is told that somebody was faster."""
    make_endpoint()
    api.post(PATH, BODY)

    assert api.post(PATH, BODY).status_code == 409


def test_what_an_incident_wants_needs_a_reason_to_be_let_go(api: Asking) -> None:
    """It is listed apart from what people switched on."""
    incident = make_incident(make_trusted_endpoint())
    switch_modes_on(incident)
    listed = api.get(PATH).json()["modes"]
    address = f"{PATH}/{listed[0]['id']}"

    assert {(m["automatic"], m["incident"]) for m in listed} == {(True, incident.pk)}
    assert api.delete(address).status_code == 409
    assert api.delete(f"{address}?reason=a+known+fault").status_code == 204
    assert len(api.get(PATH).json()["modes"]) == len(listed) - 1


def test_modes_of_another_endpoint_are_not_found(api: Asking) -> None:
    """Nor those that are off already."""
    other = make_trusted_endpoint(slug="other")
    make_trusted_endpoint()
    switch = modes.switch_on(other.profile, Mode.NO_TOOLS, by=None, reason="trying")

    assert api.delete(f"{PATH}/{switch.pk}").status_code == 404
    modes.switch_off(switch, by=None)
    assert api.delete(f"/endpoints/other/modes/{switch.pk}").status_code == 404
    assert api.get("/endpoints/nobody/modes").status_code == 404


def test_switching_needs_the_scope_to_write(asking: Callable[..., Asking]) -> None:
    """Reading does not."""
    make_endpoint()
    reader = asking("read", "probe")

    assert reader.get(PATH).status_code == 200
    assert reader.post(PATH, BODY).status_code == 403
    assert reader.delete(f"{PATH}/1").status_code == 403
    assert not Incident.objects.exists()
