from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from dashboard.models import Incident, ModeSwitch
from dashboard.trust import modes
from health.modes import Mode
from tests.dashboard.api.client import ApiClient, read_error
from tests.dashboard.api.incidents import make_incident, switch_modes_on
from tests.dashboard.policy.builders import make_trusted_endpoint, move_into_past
from tests.factories import make_endpoint

PATH = "/endpoints/steady/modes"
BODY: dict[str, Any] = {"mode": "no_parallel", "reason": "trying", "lasts_s": 3600}


def policy(api: ApiClient) -> list[str]:
    effective: list[str] = api.get("/endpoints/steady/policy").json()["modes"]["effective"]
    return effective


def test_a_mode_is_switched_on_and_off(api: ApiClient) -> None:
    """By the token's owner, for the requested time; the policy changes at once."""
    make_trusted_endpoint()

    created = api.post(PATH, BODY)

    switch = created.json()
    assert (created.status_code, switch["mode"], switch["author"]) == (201, "no_parallel", "alice")
    times = [datetime.fromisoformat(switch[name]) for name in ("expires_at", "since")]
    assert abs(times[0] - times[1] - timedelta(hours=1)) < timedelta(seconds=1)
    assert api.get(PATH).json()["modes"] == [switch]
    assert policy(api) == ["no_parallel"]
    assert api.delete(f"{PATH}/{switch['id']}").status_code == 204
    assert (api.get(PATH).json()["modes"], policy(api)) == ([], [])


def test_a_mode_without_a_time_stays(api: ApiClient) -> None:
    """Without an end, a mode stays until it is turned off."""
    make_trusted_endpoint()

    created = api.post(PATH, {"mode": "no_tools", "reason": "trying"})

    assert created.json()["expires_at"] is None


def test_a_mode_that_has_run_out_is_not_listed(api: ApiClient) -> None:
    """An expired mode is not listed, even before its end is recorded."""
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
def test_a_malformed_wish_is_refused(api: ApiClient, over: dict[str, Any], field: str) -> None:
    """The message names the field, and no mode changes."""
    make_endpoint()

    answer = api.post(PATH, {**BODY, **over})

    assert answer.status_code == 422
    assert read_error(answer)["errors"][0]["field"] == field
    assert not ModeSwitch.objects.exists()


def test_a_reason_is_needed(api: ApiClient) -> None:
    """A mode cannot be turned on without a reason."""
    make_endpoint()

    assert api.post(PATH, {**BODY, "reason": "  "}).status_code == 409


def test_a_mode_is_switched_on_by_hand_once(api: ApiClient) -> None:
    """The second request gets a conflict."""
    make_endpoint()
    api.post(PATH, BODY)

    assert api.post(PATH, BODY).status_code == 409


def test_what_an_incident_wants_needs_a_reason_to_be_let_go(api: ApiClient) -> None:
    """Automatic modes are listed apart from manual ones; turning one off needs a reason."""
    incident = make_incident(make_trusted_endpoint())
    switch_modes_on(incident)
    listed = api.get(PATH).json()["modes"]
    address = f"{PATH}/{listed[0]['id']}"

    assert {(m["automatic"], m["incident"]) for m in listed} == {(True, incident.pk)}
    assert api.delete(address).status_code == 409
    assert api.delete(f"{address}?reason=a+known+fault").status_code == 204
    assert len(api.get(PATH).json()["modes"]) == len(listed) - 1


def test_modes_of_another_endpoint_are_not_found(api: ApiClient) -> None:
    """Modes of other endpoints, and modes that are off already, answer 404."""
    other = make_trusted_endpoint(slug="other")
    make_trusted_endpoint()
    switch = modes.switch_on(other.profile, Mode.NO_TOOLS, by=None, reason="trying")

    assert api.delete(f"{PATH}/{switch.pk}").status_code == 404
    modes.switch_off(switch, by=None)
    assert api.delete(f"/endpoints/other/modes/{switch.pk}").status_code == 404
    assert api.get("/endpoints/nobody/modes").status_code == 404


def test_switching_needs_the_scope_to_write(make_client: Callable[..., ApiClient]) -> None:
    """Turning modes on or off needs the scope; reading does not."""
    make_endpoint()
    reader = make_client("read", "probe")

    assert reader.get(PATH).status_code == 200
    assert reader.post(PATH, BODY).status_code == 403
    assert reader.delete(f"{PATH}/1").status_code == 403
    assert not Incident.objects.exists()
