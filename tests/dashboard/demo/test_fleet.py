"""The demo fleet stands on vendors that are there, each story played by whom it is meant for."""

from __future__ import annotations

import pytest

from dashboard.demo.demo_fleet import FleetMember
from probes.outcomes import Outcome
from simulators.stories import STORIES
from simulators.vendors.registry import SPECS
from simulators.vendors.spec import Spec
from tests.dashboard.demo.story_player import FLEET, first_run

SHOWN = ("healthy", "slow-decay", "lost-replay", "flapping", "outage", "template-swap")


@pytest.mark.parametrize("slug", FLEET)
def test_an_endpoint_has_the_provider_and_a_model_of_its_vendor(slug: str) -> None:
    """A wrong pairing would measure our own mistake."""
    member = FLEET[slug]
    spec = _spec(member)

    assert member.provider == spec.provider
    assert member.model in spec.models


@pytest.mark.parametrize("slug", [slug for slug in FLEET if "/stories/" in FLEET[slug].base_url])
def test_a_story_is_played_by_the_vendor_and_model_it_is_meant_for(slug: str) -> None:
    """Another vendor could not show what the story tells."""
    member = FLEET[slug]
    story = STORIES[member.base_url.split("/stories/")[1].split("/")[0]]

    assert (_spec(member).name, member.model) == (story.vendor, story.model)


def test_every_story_of_weeks_is_shown() -> None:
    """A month of history has room for all of them."""
    addresses = [member.base_url for member in FLEET.values()]

    assert [name for name in SHOWN if not any(f"/stories/{name}/" in a for a in addresses)] == []


@pytest.mark.parametrize("slug", FLEET)
def test_every_endpoint_answers_from_its_first_run_on(slug: str) -> None:
    """No attempt is void for a wrong address, key or model."""
    first = first_run(slug)

    assert Outcome.VOID not in {attempt.outcome for attempt in first.attempts}


def _spec(member: FleetMember) -> Spec:
    path = member.base_url.removeprefix("http://127.0.0.1:8900")
    if path.startswith("/stories/"):
        path = "/" + path.split("/", 3)[3]
    values = {spec.mount + spec.prefix: spec for spec in SPECS}
    return values[path]
