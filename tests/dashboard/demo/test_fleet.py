"""The demo fleet uses existing vendors and the right vendor per story."""

from __future__ import annotations

import pytest

from dashboard.demo.demo_fleet import FleetMember
from probes.outcomes import Outcome
from simulators.stories import STORIES
from simulators.vendors.spec import Spec
from simulators.vendors.vendor_registry import SPECS
from tests.dashboard.demo.story_player import FLEET, first_run

LONG_STORIES = ("healthy", "slow-decay", "lost-replay", "flapping", "outage", "template-swap")


@pytest.mark.parametrize("slug", FLEET)
def test_an_endpoint_has_the_provider_and_a_model_of_its_vendor(slug: str) -> None:
    """A wrong combination would only measure our mistake."""
    member = FLEET[slug]
    spec = _spec(member)

    assert member.provider == spec.provider
    assert member.model in spec.models


@pytest.mark.parametrize("slug", [slug for slug in FLEET if "/stories/" in FLEET[slug].base_url])
def test_a_story_has_its_vendor_and_model(slug: str) -> None:
    """Another vendor could not show the fault of the story."""
    member = FLEET[slug]
    story = STORIES[member.base_url.split("/stories/")[1].split("/")[0]]

    assert (_spec(member).name, member.model) == (story.vendor, story.model)


def test_every_long_story_is_in_the_fleet() -> None:
    """A month of history is long enough for all of them."""
    addresses = [member.base_url for member in FLEET.values()]

    assert [
        name for name in LONG_STORIES if not any(f"/stories/{name}/" in a for a in addresses)
    ] == []


@pytest.mark.parametrize("slug", FLEET)
def test_the_first_run_of_every_endpoint_has_a_verdict(slug: str) -> None:
    """No attempt is void because of a wrong URL, key or model."""
    first = first_run(slug)

    assert Outcome.VOID not in {attempt.outcome for attempt in first.attempts}


def _spec(member: FleetMember) -> Spec:
    path = member.base_url.removeprefix("http://127.0.0.1:8900")
    if path.startswith("/stories/"):
        path = "/" + path.split("/", 3)[3]
    specs = {spec.mount + spec.prefix: spec for spec in SPECS}
    return specs[path]
