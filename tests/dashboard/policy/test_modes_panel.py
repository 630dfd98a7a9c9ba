from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.test import Client
from django.utils import timezone

from dashboard.models import ModeSwitch
from dashboard.models.people import Role
from dashboard.trust import modes
from health.modes import EFFECTS, Mode
from tests.dashboard.incidents.builders import degrade, freeze_baseline
from tests.factories import make_endpoint, make_person
from tests.markup import assert_contains, assert_not_contains

HTMX = {"HX-Request": "true"}
URL = "/endpoints/steady/modes/"


def test_every_mode_shows_its_effect(signed_in: Client) -> None:
    """The card lists all modes with their effect, on or off."""
    freeze_baseline(make_endpoint())

    page = signed_in.get("/endpoints/steady/")

    for mode in Mode:
        assert_contains(page, f'data-mode="{mode.value}"')
        assert_contains(page, EFFECTS[mode])


def test_a_mode_is_switched_on_in_place(signed_in: Client, person: User) -> None:
    """The response is the card alone, with author, reason and end, and an event for the page."""
    make_endpoint()

    card = signed_in.post(URL, _form_data(lasts="8"), headers=HTMX)

    switch = ModeSwitch.objects.get()
    assert (switch.author, switch.reason) == (person, "they stumble")
    assert switch.expires_at is not None
    assert switch.expires_at - switch.on_at == timedelta(hours=8)
    assert_not_contains(card, "<html")
    assert_contains(card, "they stumble")
    assert_contains(card, "by hand")
    assert "modes-changed" in json.loads(card.headers["HX-Trigger"])


def test_it_works_without_scripts(signed_in: Client) -> None:
    """A plain post leads back to the card with a message."""
    make_endpoint()

    answer = signed_in.post(URL, _form_data(lasts="none"))
    page = signed_in.get("/endpoints/steady/")

    assert answer.headers["Location"] == "/endpoints/steady/#modes"
    assert_contains(page, "no_parallel is on.")
    assert ModeSwitch.objects.get().expires_at is None


def test_an_explicit_end_overrides_the_chosen_duration(signed_in: Client) -> None:
    """The end is in UTC."""
    make_endpoint()
    until = (timezone.now() + timedelta(days=3)).replace(second=0, microsecond=0)

    signed_in.post(URL, _form_data(until=f"{until:%Y-%m-%dT%H:%M}"), headers=HTMX)

    expires = ModeSwitch.objects.get().expires_at
    assert expires is not None
    assert abs(expires - until) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"reason": "  "}, "Say why"),
        ({"until": "2020-01-01T00:00"}, "over already"),
        ({"until": "tomorrow"}, "Write the time as"),
        ({"until": "2099-01-01T00:00"}, "at most a year"),
        ({"mode": "no_such_mode"}, "no_such_mode"),
    ],
)
def test_invalid_input_is_refused_with_a_message(
    signed_in: Client, over: dict[str, str], message: str
) -> None:
    """The message is in the card, nothing is switched, and the page gets no event."""
    make_endpoint()

    card = signed_in.post(URL, _form_data(**over), headers=HTMX)

    assert_contains(card, message)
    assert_contains(card, 'role="alert"')
    assert not ModeSwitch.objects.exists()
    assert "HX-Trigger" not in card.headers


def test_a_refused_form_keeps_the_reason(signed_in: Client) -> None:
    """A wrong time does not make people type the reason again."""
    make_endpoint()

    card = signed_in.post(URL, _form_data(until="2020-01-01T00:00"), headers=HTMX)

    assert_contains(card, 'value="they stumble"')


def test_a_mode_that_is_on_already_is_refused_with_its_reason(signed_in: Client) -> None:
    """Of two people at once, the second sees that the mode is on already."""
    endpoint = make_endpoint()
    modes.switch_on(endpoint.profile, Mode.NO_PARALLEL, by=None, reason="first")

    card = signed_in.post(URL, _form_data(), headers=HTMX)

    assert_contains(card, "Somebody has switched no_parallel on meanwhile: first")


def test_the_other_person_is_named(signed_in: Client) -> None:
    """The second person reads who was first and why."""
    endpoint, bob = make_endpoint(), make_person("bob", Role.OPERATOR)
    switch = modes.switch_on(endpoint.profile, Mode.NO_PARALLEL, by=bob, reason="<i>first</i>")

    late_on = signed_in.post(URL, _form_data(), headers=HTMX)
    modes.switch_off(switch, by=bob)
    late_off = signed_in.post(f"{URL}{switch.pk}/off/", headers=HTMX)

    assert_contains(late_on, "bob has switched no_parallel on meanwhile: &lt;i&gt;first&lt;/i&gt;")
    assert_contains(late_off, "bob had switched no_parallel off already.")
    assert_contains(late_off, "last switched off by bob")
    assert ModeSwitch.objects.count() == 1


def test_an_outdated_card_says_who_changed_it(signed_in: Client) -> None:
    """A card that polls gets a message and a button, and is never replaced."""
    endpoint, bob = make_endpoint(), make_person("bob", Role.OPERATOR)
    seen = signed_in.get(URL).context["panel"].state_key
    assert signed_in.get(URL, {"seen": seen}).status_code == 204

    switch = modes.switch_on(endpoint.profile, Mode.NO_PARALLEL, by=bob, reason="first")
    on = signed_in.get(URL, {"seen": seen})
    modes.switch_off(switch, by=bob)
    off = signed_in.get(URL, {"seen": seen})

    assert_contains(on, "bob switched no_parallel on meanwhile.")
    assert_contains(off, "bob switched no_parallel off meanwhile.")
    assert_not_contains(off, "<form")


def test_an_expired_mode_can_be_switched_on_again(signed_in: Client) -> None:
    """The sweep does not have to run first."""
    endpoint = make_endpoint()
    lasts = timedelta(hours=1)
    old = modes.switch_on(endpoint.profile, Mode.NO_PARALLEL, by=None, reason="old", lasts=lasts)
    ModeSwitch.objects.filter(pk=old.pk).update(expires_at=Now() - lasts)

    card = signed_in.post(URL, _form_data(reason="new"), headers=HTMX)

    assert_contains(card, "no_parallel is on.")
    assert ModeSwitch.objects.on().get().reason == "new"


def test_undo_is_one_click(signed_in: Client) -> None:
    """A manual mode is switched off without a confirmation."""
    endpoint = make_endpoint()
    switch = modes.switch_on(endpoint.profile, Mode.NO_PARALLEL, by=None, reason="first")

    card = signed_in.post(f"{URL}{switch.pk}/off/", headers=HTMX)
    again = signed_in.post(f"{URL}{switch.pk}/off/", headers=HTMX)

    assert_contains(card, "no_parallel is off.")
    assert_contains(again, "alice had switched no_parallel off already.")
    assert not ModeSwitch.objects.on().exists()


def test_an_automatic_mode_names_its_incident_and_needs_a_reason(signed_in: Client) -> None:
    """It shows cause and figures; only approvers may switch it off, with a reason."""
    incident = degrade(make_endpoint())
    switch = incident.switches.get(mode="no_tools")
    url = f"{URL}{switch.pk}/off/"
    approver = Client()
    approver.force_login(make_person("bob", Role.APPROVER))

    page = signed_in.get("/endpoints/steady/")
    offered = approver.get("/endpoints/steady/")
    refused = signed_in.post(url, {"reason": "we need it"}, headers=HTMX)
    without = approver.post(url, {"reason": ""}, headers=HTMX)
    accepted = approver.post(url, {"reason": "we need it"}, headers=HTMX)

    assert_contains(offered, "Switch no_tools off")
    assert_not_contains(page, "Switch no_tools off")
    assert_contains(refused, "only an approver may switch it off")
    assert_contains(page, f'<a href="/incidents/{incident.pk}/">Parse success fell')
    assert_contains(page, "of 10.2 needed")
    assert_contains(without, "Say why")
    assert_contains(accepted, "no_tools is off.")


def test_a_switch_of_another_endpoint_is_not_found(signed_in: Client) -> None:
    """The URL of one endpoint does not reach switches of another."""
    make_endpoint()
    other = make_endpoint(slug="other")
    switch = modes.switch_on(other.profile, Mode.NO_PARALLEL, by=None, reason="theirs")

    assert signed_in.post(f"{URL}{switch.pk}/off/").status_code == 404
    assert ModeSwitch.objects.on().exists()


def test_reasons_are_escaped(signed_in: Client) -> None:
    """A reason is shown as text, whatever it contains."""
    make_endpoint()

    card = signed_in.post(URL, _form_data(reason="<script>alert(1)</script>\u202e"), headers=HTMX)

    assert_contains(card, "&lt;script&gt;alert(1)&lt;/script&gt;⟦U+202E⟧")


def test_a_default_mode_shows_its_reason(signed_in: Client) -> None:
    """Before anything is known careful modes are on, and the card says so."""
    make_endpoint()

    page = signed_in.get("/endpoints/steady/")

    assert_contains(page, "by default")
    assert_contains(page, "Nothing was measured yet.")


def test_the_policy_card_follows_the_modes(signed_in: Client) -> None:
    """The policy is shown beside the modes, with a version that grows."""
    make_endpoint()
    before = signed_in.get("/endpoints/steady/policy/").context["policy"].version

    signed_in.post(URL, _form_data(), headers=HTMX)
    card = signed_in.get("/endpoints/steady/policy/")

    assert card.context["policy"].version > before
    assert_not_contains(card, "<html")
    assert_contains(card, "/api/v1/endpoints/steady/policy")


@pytest.mark.parametrize("path", ["modes/", "policy/"])
def test_anonymous_sees_neither_modes_nor_policy(client: Client, db: None, path: str) -> None:
    """Every part requires signing in."""
    make_endpoint()

    assert client.get(f"/endpoints/steady/{path}").headers["Location"].startswith("/login/")


def _form_data(**over: Any) -> dict[str, Any]:
    return {"mode": "no_parallel", "reason": "they stumble", "lasts": "1", **over}
