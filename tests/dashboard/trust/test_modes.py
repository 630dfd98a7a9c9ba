"""Modes: those of incidents and those of people stay apart, and each can be undone."""

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
from tests.dashboard.runs.storage.builders import at_once
from tests.dashboard.trust.builders import (
    CLOSURE,
    HEALTHY,
    REFUSING,
    SOON,
    Past,
    finished,
    notices,
    on,
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
    """A profile with an incident of closure errors, most severe."""
    finished(endpoint, HEALTHY, REFUSING)
    return endpoint.profile


def switched(profile: Profile, mode: Mode = NO_TOOLS, **over: Any) -> ModeSwitch:
    return modes.switch_on(profile, mode, **{"by": None, "reason": "To be safe.", **over})


def automatic(profile: Profile, mode: Mode) -> ModeSwitch:
    return ModeSwitch.objects.on().get(profile=profile, mode=mode.value, incident__isnull=False)


def test_a_person_switches_a_mode_on_and_off_again(profile: Profile, ann: User) -> None:
    """With author and reason, told to others both times; doing it twice does nothing more."""
    switch = switched(profile, by=ann, reason="  The vendor asked for it. ")
    assert on(profile) == {"no_tools"}

    assert modes.switch_off(switch, by=ann)
    assert not modes.switch_off(switch, by=ann)

    switch.refresh_from_db()
    assert (switch.author, switch.reason) == (ann, "The vendor asked for it.")
    assert (switch.off_by, switch.incident, switch.expires_at) == (ann, None, None)
    assert on(profile) == set()
    assert notices(profile.endpoint) == ["mode.changed", "mode.changed"]


def test_a_mode_lasts_as_long_as_was_said_by_the_databases_clock(profile: Profile) -> None:
    """When its time is over it no longer holds, whether somebody has swept or not."""
    switch = switched(profile, lasts=timedelta(hours=2))
    assert switch.expires_at == switch.on_at + timedelta(hours=2)
    assert modes.expire_modes() == 0

    ModeSwitch.objects.update(expires_at=Now() - timedelta(seconds=1))

    assert on(profile) == set()
    assert modes.expire_modes() == 1
    assert modes.expire_modes() == 0
    switch.refresh_from_db()
    assert (switch.off_at, switch.off_by) == (switch.expires_at, None)
    assert notices(profile.endpoint) == ["mode.changed", "mode.changed"]


def test_a_mode_that_has_run_out_can_be_switched_on_again_at_once(profile: Profile) -> None:
    """Nobody has to wait for the sweep."""
    switched(profile, lasts=timedelta(hours=2))
    ModeSwitch.objects.update(expires_at=Now() - timedelta(seconds=1))

    switched(profile)

    assert on(profile) == {"no_tools"}
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
def test_what_makes_no_sense_is_refused_with_a_sentence(
    profile: Profile, over: dict[str, Any], sentence: str
) -> None:
    """And nothing is left of it."""
    with pytest.raises(Refused, match=sentence):
        switched(profile, **over)

    assert not ModeSwitch.objects.exists()
    assert notices(profile.endpoint) == []


def test_a_mode_that_is_on_cannot_be_switched_on_a_second_time(profile: Profile) -> None:
    """Its reason and its end would be two."""
    switched(profile)

    with pytest.raises(Refused, match="no_tools"):
        switched(profile, reason="Me too.")

    assert ModeSwitch.objects.get().reason == "To be safe."


def test_nothing_is_switched_on_for_a_profile_that_was_superseded_meanwhile(
    profile: Profile,
) -> None:
    """The page was opened before the key changed; what it knew then does not count."""
    endpoints.update(profile.endpoint, key=None, forget_key=False, model="n")

    with pytest.raises(Refused, match="superseded"):
        switched(profile)

    assert not ModeSwitch.objects.exists()


def test_manual_and_automatic_ones_stay_apart(refusing: Profile) -> None:
    """Undoing one leaves the other, and the end of an incident leaves what people want."""
    manual = switched(refusing, NO_TOOLS)
    assert list(refusing.switches.manual()) == [manual]

    assert modes.switch_off(automatic(refusing, NO_TOOLS), by=None, reason="I know better.")
    assert on(refusing) == WORST
    detection.accept_baseline(refusing, CLOSURE, by=None, note="So be it.")

    assert on(refusing) == {"no_tools"}
    assert modes.switch_off(manual, by=None)
    assert on(refusing) == set()


def test_an_automatic_one_is_only_switched_off_with_a_reason(refusing: Profile) -> None:
    """It was on for a cause, so somebody has to answer for it."""
    switch = automatic(refusing, NO_TOOLS)

    with pytest.raises(Refused, match="Say why"):
        modes.switch_off(switch, by=None)

    assert on(refusing) == WORST


@pytest.mark.parametrize("is_known", [True, False], ids=["a person", "somebody who is gone"])
def test_an_automatic_one_that_was_switched_off_stays_off_while_the_incident_eases(
    endpoint: Endpoint, ann: User, is_known: bool
) -> None:
    """It is nobody's business to switch it on again, whoever it was."""
    past = Past(endpoint)
    past.run({CLOSURE: (10, 0)})
    past.run({CLOSURE: (0, 10)})
    profile = endpoint.profile
    by = ann if is_known else None
    modes.switch_off(automatic(profile, Mode.READ_ONLY_TOOLS), by=by, reason="We read anyway.")
    detection.release_incident(the_incident(profile), by=None, note="It is mended.")

    steps: list[set[str]] = []
    for run in range(21):
        past.run({CLOSURE: (10, 0)}, after=SOON)
        if not run or on(profile) != steps[-1]:
            steps.append(on(profile))

    assert steps == [{"no_parallel", "no_tools"}, {"no_parallel"}, set()]


def test_an_automatic_one_that_was_switched_off_comes_back_when_it_gets_worse(
    endpoint: Endpoint,
) -> None:
    """What somebody let go, they let go of a milder incident."""
    past = Past(endpoint)
    past.runs(20, {PARALLEL: (10, 0)})
    past.runs(7, {PARALLEL: (9, 1)})
    profile = endpoint.profile
    modes.switch_off(automatic(profile, NO_PARALLEL), by=None, reason="We want them.")

    past.runs(2, {PARALLEL: (9, 1)})
    assert on(profile) == set()
    past.runs(2, {PARALLEL: (0, 10)})

    assert the_incident(profile).severity > 1
    assert on(profile) == {"no_parallel"}


def test_a_changed_key_ends_what_people_switched_on_too(profile: Profile, ann: User) -> None:
    """It was about another model; the new profile begins in the shadow."""
    switch = switched(profile, by=ann)

    endpoints.update(profile.endpoint, key=None, forget_key=False, model="n")

    switch.refresh_from_db()
    assert switch.off_at is not None
    assert switch.off_reason == "The profile key changed."


@pytest.mark.django_db(transaction=True)
def test_of_two_people_who_switch_one_mode_on_at_once_one_is_told_so(
    transactional_db: None,
) -> None:
    """One mode, one reason; the other gets a sentence and not an error."""
    from tests.dashboard.runs.conftest import FIELDS

    profile = endpoints.create(**FIELDS).profile

    def attempt() -> str:
        try:
            switched(Profile.objects.get(pk=profile.pk))
        except Refused as refused:
            return str(refused)
        return "switched"

    answers = at_once(2, attempt)

    told = "Somebody has switched no_tools on meanwhile: To be safe."
    assert sorted(answers) == [told, "switched"]
    assert ModeSwitch.objects.count() == 1
    assert notices(profile.endpoint) == ["mode.changed"]
