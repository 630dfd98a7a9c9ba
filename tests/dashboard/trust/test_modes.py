"""Modes: automatic and manual switches are independent, and each can be undone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models.functions import Now

from dashboard.core.errors import Refused
from dashboard.endpoints.services import endpoints
from dashboard.models import Endpoint, ModeSwitch, Profile
from dashboard.trust import detection, modes
from health.modes import Mode
from probes.outcomes import Metric
from tests.dashboard.runs.storage.builders import call_concurrently
from tests.dashboard.trust.builders import (
    CLOSURE,
    HEALTHY,
    REFUSING,
    SOON,
    Past,
    active_modes,
    finish_runs,
    notice_kinds,
    the_incident,
)

NO_TOOLS, NO_PARALLEL = Mode.NO_TOOLS, Mode.NO_PARALLEL
PARALLEL = Metric.PARALLEL_DOWNGRADE
WORST = {"no_parallel", "read_only_tools", "no_tools"}


@pytest.fixture
def profile(endpoint: Endpoint) -> Profile:
    return endpoint.profile


@pytest.fixture
def refusing(endpoint: Endpoint) -> Profile:
    """A profile with a most severe incident of closure errors."""
    finish_runs(endpoint, HEALTHY, REFUSING)
    return endpoint.profile


def switch_on(profile: Profile, mode: Mode = NO_TOOLS, **over: Any) -> ModeSwitch:
    return modes.switch_on(profile, mode, **{"by": None, "reason": "To be safe.", **over})


def automatic_switch(profile: Profile, mode: Mode) -> ModeSwitch:
    return ModeSwitch.objects.on().get(profile=profile, mode=mode.value, incident__isnull=False)


def test_a_person_switches_a_mode_on_and_off_again(profile: Profile, ann: User) -> None:
    """Author and reason are stored, both times send a notice, and a second time does nothing."""
    switch = switch_on(profile, by=ann, reason="  The vendor asked for it. ")
    assert active_modes(profile) == {"no_tools"}

    assert modes.switch_off(switch, by=ann)
    assert not modes.switch_off(switch, by=ann)

    switch.refresh_from_db()
    assert (switch.author, switch.reason) == (ann, "The vendor asked for it.")
    assert (switch.off_by, switch.incident, switch.expires_at) == (ann, None, None)
    assert active_modes(profile) == set()
    assert notice_kinds(profile.endpoint) == ["mode.changed", "mode.changed"]


def test_a_mode_expires_by_the_databases_clock(profile: Profile) -> None:
    """Past its time it is off, whether the sweep has run or not."""
    switch = switch_on(profile, lasts=timedelta(hours=2))
    assert switch.expires_at == switch.on_at + timedelta(hours=2)
    assert modes.expire_modes() == 0

    ModeSwitch.objects.update(expires_at=Now() - timedelta(seconds=1))

    assert active_modes(profile) == set()
    assert modes.expire_modes() == 1
    assert modes.expire_modes() == 0
    switch.refresh_from_db()
    assert (switch.off_at, switch.off_by) == (switch.expires_at, None)
    assert notice_kinds(profile.endpoint) == ["mode.changed", "mode.changed"]


def test_an_expired_mode_can_be_switched_on_again_at_once(profile: Profile) -> None:
    """The sweep does not have to run first."""
    switch_on(profile, lasts=timedelta(hours=2))
    ModeSwitch.objects.update(expires_at=Now() - timedelta(seconds=1))

    switch_on(profile)

    assert active_modes(profile) == {"no_tools"}
    assert ModeSwitch.objects.filter(off_at=None).count() == 1


@pytest.mark.parametrize(
    ("over", "sentence"),
    [
        ({"reason": " "}, "Say why"),
        ({"reason": "x" * 1001}, "longer than 1000"),
        ({"lasts": timedelta()}, "at most a year"),
        ({"lasts": timedelta(days=366)}, "at most a year"),
    ],
    ids=["no reason", "long reason", "no time", "too long"],
)
def test_invalid_input_is_refused_with_a_message(
    profile: Profile, over: dict[str, Any], sentence: str
) -> None:
    """Nothing is stored."""
    with pytest.raises(Refused, match=sentence):
        switch_on(profile, **over)

    assert not ModeSwitch.objects.exists()
    assert notice_kinds(profile.endpoint) == []


def test_a_mode_that_is_on_cannot_be_switched_on_a_second_time(profile: Profile) -> None:
    """It would have two reasons and two ends."""
    switch_on(profile)

    with pytest.raises(Refused, match="no_tools"):
        switch_on(profile, reason="Me too.")

    assert ModeSwitch.objects.get().reason == "To be safe."


def test_no_mode_is_switched_on_for_a_superseded_profile(
    profile: Profile,
) -> None:
    """The page may have been opened before the key changed."""
    endpoints.update(profile.endpoint, key=None, forget_key=False, model="n")

    with pytest.raises(Refused, match="superseded"):
        switch_on(profile)

    assert not ModeSwitch.objects.exists()


def test_manual_and_automatic_switches_are_independent(refusing: Profile) -> None:
    """Undoing one keeps the other, and the end of an incident keeps manual modes."""
    manual = switch_on(refusing, NO_TOOLS)
    assert list(refusing.switches.manual()) == [manual]

    assert modes.switch_off(automatic_switch(refusing, NO_TOOLS), by=None, reason="I know better.")
    assert active_modes(refusing) == WORST
    detection.accept_baseline(refusing, CLOSURE, by=None, note="So be it.")

    assert active_modes(refusing) == {"no_tools"}
    assert modes.switch_off(manual, by=None)
    assert active_modes(refusing) == set()


def test_switching_an_automatic_mode_off_needs_a_reason(refusing: Profile) -> None:
    """An incident switched it on, so overriding it has to be justified."""
    switch = automatic_switch(refusing, NO_TOOLS)

    with pytest.raises(Refused, match="Say why"):
        modes.switch_off(switch, by=None)

    assert active_modes(refusing) == WORST


@pytest.mark.parametrize("is_known", [True, False], ids=["a person", "a deleted person"])
def test_an_overridden_automatic_mode_stays_off_while_the_incident_eases(
    endpoint: Endpoint, ann: User, is_known: bool
) -> None:
    """It is not switched on again, whether the person still exists or not."""
    past = Past(endpoint)
    past.run({CLOSURE: (10, 0)})
    past.run({CLOSURE: (0, 10)})
    profile = endpoint.profile
    by = ann if is_known else None
    modes.switch_off(
        automatic_switch(profile, Mode.READ_ONLY_TOOLS), by=by, reason="We read anyway."
    )
    detection.release_incident(the_incident(profile), by=None, note="It is mended.")

    steps: list[set[str]] = []
    for run in range(21):
        past.run({CLOSURE: (10, 0)}, after=SOON)
        if not run or active_modes(profile) != steps[-1]:
            steps.append(active_modes(profile))

    assert steps == [{"no_parallel", "no_tools"}, {"no_parallel"}, set()]


def test_an_overridden_automatic_mode_returns_when_the_incident_escalates(
    endpoint: Endpoint,
) -> None:
    """It was switched off for a milder incident."""
    past = Past(endpoint)
    past.runs(20, {PARALLEL: (10, 0)})
    past.runs(7, {PARALLEL: (9, 1)})
    profile = endpoint.profile
    modes.switch_off(automatic_switch(profile, NO_PARALLEL), by=None, reason="We want them.")

    past.runs(2, {PARALLEL: (9, 1)})
    assert active_modes(profile) == set()
    past.runs(2, {PARALLEL: (0, 10)})

    assert the_incident(profile).severity > 1
    assert active_modes(profile) == {"no_parallel"}


def test_a_changed_key_ends_manual_modes_too(profile: Profile, ann: User) -> None:
    """They were for another model, and the new profile starts in shadow."""
    switch = switch_on(profile, by=ann)

    endpoints.update(profile.endpoint, key=None, forget_key=False, model="n")

    switch.refresh_from_db()
    assert switch.off_at is not None
    assert switch.off_reason == "The profile key changed."


@pytest.mark.django_db(transaction=True)
def test_of_two_people_who_switch_one_mode_on_at_once_one_is_refused(
    transactional_db: None,
) -> None:
    """The second one gets a message and not a server error."""
    from tests.dashboard.runs.conftest import FIELDS

    profile = endpoints.create(**FIELDS).profile

    def attempt() -> str:
        try:
            switch_on(Profile.objects.get(pk=profile.pk))
        except Refused as refused:
            return str(refused)
        return "switched"

    answers = call_concurrently(2, attempt)

    refusal = "Somebody has switched no_tools on meanwhile: To be safe."
    assert sorted(answers) == [refusal, "switched"]
    assert ModeSwitch.objects.count() == 1
    assert notice_kinds(profile.endpoint) == ["mode.changed"]
