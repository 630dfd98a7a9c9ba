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
from tests.dashboard.incidents.builders import degrade, settle
from tests.factories import make_endpoint, make_person
from tests.markup import assert_contains, assert_not_contains

HTMX = {"HX-Request": "true"}
URL = "/endpoints/steady/modes/"


def test_every_mode_says_what_it_does(signed_in: Client) -> None:
    """The card lists all modes with their effect, on or off."""
    settle(make_endpoint())

    page = signed_in.get("/endpoints/steady/")

    for mode in Mode:
        assert_contains(page, f'data-mode="{mode.value}"')
        assert_contains(page, EFFECTS[mode])


def test_a_mode_is_switched_on_in_place(signed_in: Client, person: User) -> None:
    """The answer is the card alone; it says who, why and until when, and tells the page."""
    make_endpoint()

    card = signed_in.post(URL, _asked(lasts="8"), headers=HTMX)

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

    answer = signed_in.post(URL, _asked(lasts="none"))
    page = signed_in.get("/endpoints/steady/")

    assert answer.headers["Location"] == "/endpoints/steady/#modes"
    assert_contains(page, "no_parallel is on.")
    assert ModeSwitch.objects.get().expires_at is None


def test_a_time_of_ones_own_wins_over_the_choice(signed_in: Client) -> None:
    """Whoever names a moment gets that moment, in UTC."""
    make_endpoint()
    until = (timezone.now() + timedelta(days=3)).replace(second=0, microsecond=0)

    signed_in.post(URL, _asked(until=f"{until:%Y-%m-%dT%H:%M}"), headers=HTMX)

    expires = ModeSwitch.objects.get().expires_at
    assert expires is not None
    assert abs(expires - until) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("over", "words"),
    [
        ({"reason": "  "}, "Say why"),
        ({"until": "2020-01-01T00:00"}, "over already"),
        ({"until": "tomorrow"}, "Write the time as"),
        ({"until": "2099-01-01T00:00"}, "at most a year"),
        ({"mode": "no_such_mode"}, "no_such_mode"),
    ],
)
def test_what_cannot_be_is_refused_in_words(
    signed_in: Client, over: dict[str, str], words: str
) -> None:
    """A refusal is in the card, nothing is switched, and nothing else is told to change."""
    make_endpoint()

    card = signed_in.post(URL, _asked(**over), headers=HTMX)

    assert_contains(card, words)
    assert_contains(card, 'role="alert"')
    assert not ModeSwitch.objects.exists()
    assert "HX-Trigger" not in card.headers


def test_a_refused_form_keeps_what_was_typed(signed_in: Client) -> None:
    """Nobody writes a reason twice because of a wrong time."""
    make_endpoint()

    card = signed_in.post(URL, _asked(until="2020-01-01T00:00"), headers=HTMX)

    assert_contains(card, 'value="they stumble"')


def test_somebody_elses_switch_is_told(signed_in: Client) -> None:
    """Two people at once: the second sees that the first was faster."""
    endpoint = make_endpoint()
    modes.switch_on(endpoint.profile, Mode.NO_PARALLEL, by=None, reason="first")

    card = signed_in.post(URL, _asked(), headers=HTMX)

    assert_contains(card, "Somebody has switched no_parallel on meanwhile: first")


def test_the_other_person_is_named(signed_in: Client) -> None:
    """Whoever comes second reads who was first, for what reason, and sees one state."""
    endpoint, bob = make_endpoint(), make_person("bob", Role.OPERATOR)
    switch = modes.switch_on(endpoint.profile, Mode.NO_PARALLEL, by=bob, reason="<i>first</i>")

    late_on = signed_in.post(URL, _asked(), headers=HTMX)
    modes.switch_off(switch, by=bob)
    late_off = signed_in.post(f"{URL}{switch.pk}/off/", headers=HTMX)

    assert_contains(late_on, "bob has switched no_parallel on meanwhile: &lt;i&gt;first&lt;/i&gt;")
    assert_contains(late_off, "bob had switched no_parallel off already.")
    assert_contains(late_off, "last switched off by bob")
    assert ModeSwitch.objects.count() == 1


def test_a_card_that_is_no_longer_true_says_who_changed_it(signed_in: Client) -> None:
    """An open card asks whether it holds; it gets a word and a button, never a swap."""
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


def test_what_has_run_out_is_in_nobodys_way(signed_in: Client) -> None:
    """A mode whose time is over can be switched on again before anybody swept it away."""
    endpoint = make_endpoint()
    lasts = timedelta(hours=1)
    old = modes.switch_on(endpoint.profile, Mode.NO_PARALLEL, by=None, reason="old", lasts=lasts)
    ModeSwitch.objects.filter(pk=old.pk).update(expires_at=Now() - lasts)

    card = signed_in.post(URL, _asked(reason="new"), headers=HTMX)

    assert_contains(card, "no_parallel is on.")
    assert ModeSwitch.objects.on().get().reason == "new"


def test_undo_is_one_click(signed_in: Client) -> None:
    """A mode that was switched on by hand goes off without a question."""
    endpoint = make_endpoint()
    switch = modes.switch_on(endpoint.profile, Mode.NO_PARALLEL, by=None, reason="first")

    card = signed_in.post(f"{URL}{switch.pk}/off/", headers=HTMX)
    again = signed_in.post(f"{URL}{switch.pk}/off/", headers=HTMX)

    assert_contains(card, "no_parallel is off.")
    assert_contains(again, "alice had switched no_parallel off already.")
    assert not ModeSwitch.objects.on().exists()


def test_an_automatic_mode_names_its_incident_and_asks_why(signed_in: Client) -> None:
    """Cause, figures and severity beside it; only who decides may switch it off, with a reason."""
    incident = degrade(make_endpoint())
    switch = incident.switches.get(mode="no_tools")
    url = f"{URL}{switch.pk}/off/"
    approver = Client()
    approver.force_login(make_person("bob", Role.APPROVER))

    page = signed_in.get("/endpoints/steady/")
    offered = approver.get("/endpoints/steady/")
    refused = signed_in.post(url, {"reason": "we need it"}, headers=HTMX)
    without = approver.post(url, {"reason": ""}, headers=HTMX)
    given = approver.post(url, {"reason": "we need it"}, headers=HTMX)

    assert_contains(offered, "Switch no_tools off")
    assert_not_contains(page, "Switch no_tools off")
    assert_contains(refused, "only an approver may switch it off")
    assert_contains(page, f'<a href="/incidents/{incident.pk}/">Parse success fell')
    assert_contains(page, "of 9.9 needed")
    assert_contains(without, "Say why")
    assert_contains(given, "no_tools is off.")


def test_a_switch_of_another_endpoint_is_not_found(signed_in: Client) -> None:
    """The address of one endpoint reaches no other."""
    make_endpoint()
    other = make_endpoint(slug="other")
    switch = modes.switch_on(other.profile, Mode.NO_PARALLEL, by=None, reason="theirs")

    assert signed_in.post(f"{URL}{switch.pk}/off/").status_code == 404
    assert ModeSwitch.objects.on().exists()


def test_words_of_people_are_inert(signed_in: Client) -> None:
    """A reason is text, whatever is in it."""
    make_endpoint()

    card = signed_in.post(URL, _asked(reason="<script>alert(1)</script>\u202e"), headers=HTMX)

    assert_contains(card, "&lt;script&gt;alert(1)&lt;/script&gt;⟦U+202E⟧")


def test_what_holds_by_default_says_why(signed_in: Client) -> None:
    """Before anything is known careful modes hold, and the card does not hide it."""
    make_endpoint()

    page = signed_in.get("/endpoints/steady/")

    assert_contains(page, "by default")
    assert_contains(page, "Nothing was measured yet.")


def test_the_policy_card_follows_the_modes(signed_in: Client) -> None:
    """What a caller gets is beside the modes, with a version that grows."""
    make_endpoint()
    before = signed_in.get("/endpoints/steady/policy/").context["policy"].version

    signed_in.post(URL, _asked(), headers=HTMX)
    card = signed_in.get("/endpoints/steady/policy/")

    assert card.context["policy"].version > before
    assert_not_contains(card, "<html")
    assert_contains(card, "/api/v1/endpoints/steady/policy")


@pytest.mark.parametrize("path", ["modes/", "policy/"])
def test_anonymous_sees_neither_modes_nor_policy(client: Client, db: None, path: str) -> None:
    """Every part asks for a sign-in first."""
    make_endpoint()

    assert client.get(f"/endpoints/steady/{path}").headers["Location"].startswith("/login/")


def _asked(**over: Any) -> dict[str, Any]:
    return {"mode": "no_parallel", "reason": "they stumble", "lasts": "1", **over}
