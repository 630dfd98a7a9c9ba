"""A whole rollout: real vendors, a real worker, two people in two browsers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from dashboard.endpoints.services import endpoints
from dashboard.models import Endpoint, Run
from dashboard.models.people import Role, Scope
from dashboard.people.services import tokens
from dashboard.trust import rollout_requests
from tests.browser.conftest import Site
from tests.browser.watch import Watch
from tests.dashboard.rollouts.profile_builders import ease_gates
from tests.factories import make_person
from tests.live import celery_worker, eventually
from tests.simulators.plugin import serve_vendors

SWAPS, DECAYS = 1_000_000, 2_000_000
STORY = f"with/new-template,from={SWAPS}+leak-hermes,p=1,from={DECAYS}/llamacpp/v1"
SECONDS_TO_THE_POLICY = 5

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def vendors() -> Iterator[str]:
    """Separate vendors, because this test advances their clock."""
    with serve_vendors() as (url, _):
        yield url


@pytest.fixture
def trusted(site: Site, vendors: str, tmp_path: Path) -> Iterator[str]:
    """A probed endpoint that two people have promoted to its last stage; yields a token."""
    alice, bob = User.objects.get(username="alice"), make_person("bob", Role.APPROVER)
    ease_gates()
    # Probes run only after a key change, to confirm an alarm, or on request.
    with celery_worker(tmp_path / "worker.log", BASELINE_EVERY="5h", CONFIRM_AFTER="0.1s"):
        endpoint = endpoints.create(
            slug="swapped",
            provider="openai",
            base_url=f"{vendors}/{STORY}",
            model="sim-steady",
            options={},
            ttl=timedelta(hours=6),
            max_concurrency=8,
            enabled=True,
            key=None,
        )
        eventually(lambda: Run.objects.filter(state="finished").exists(), seconds=120)
        for _ in range(3):
            _promote(endpoint, alice, bob)
        yield tokens.issue_token(name="c", scopes=[Scope.READ.value], lasts=None, by=alice).text


def test_a_new_template_goes_up_by_two_people_and_down_by_itself(
    trusted: str, vendors: str, open_page: Callable[..., tuple[Page, Watch]]
) -> None:
    """Swap, shadow, probes, gate, request, approval, policy; then decay, without any action."""
    alice, watch = open_page()
    bob, other = open_page(username="bob")

    def policy() -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {trusted}"}
        answer: dict[str, Any] = alice.request.get(
            "/api/v1/endpoints/swapped/policy", headers=headers
        ).json()
        return answer

    assert (policy()["stage"], policy()["profile"]["epoch"]) == ("full", 1)
    _advance_clock(vendors)
    _start_run(alice, "light")
    _reload_until(alice, "#two-profiles", "Profile 2")
    expect(alice.locator("#lead")).to_contain_text("Profile 2 waits beside it, at Shadow")
    assert (policy()["stage"], policy()["profile"]["epoch"]) == ("full", 1)

    _reload_until(alice, "#rollout", "All conditions are met")
    alice.get_by_text("Ask for Read only…").click()
    alice.get_by_label("Reason", exact=True).last.fill("the new template was measured")
    alice.get_by_role("button", name="Send the request").click()
    alice.wait_for_url("**/rollouts/*/")
    expect(alice.locator("#decide")).to_contain_text("You asked for it: somebody else decides.")

    bob.goto("/rollouts/")
    bob.get_by_role("link", name="You may decide").click()
    warning = "Approving lowers the stage, from Full to Read only."
    expect(bob.locator("#request")).to_contain_text(warning)
    bob.get_by_label("Reason", exact=True).first.fill("read first, then we see")
    bob.get_by_role("button", name="Approve").click()

    now = ("read_only", 2)
    eventually(
        lambda: (policy()["stage"], policy()["profile"]["epoch"]) == now,
        seconds=SECONDS_TO_THE_POLICY,
    )
    # The requester's page updates without a reload.
    expect(alice.locator("#request")).to_contain_text("approved by bob", timeout=30_000)

    _advance_clock(vendors)
    _start_run(alice, "full")
    _reload_until(alice, "#rollout", "Shadow.")
    assert (policy()["stage"], policy()["risk"]["allowed"]) == ("shadow", [])
    expect(alice.locator("#lead")).to_contain_text("Parse success fell from 100%")
    assert (watch.problems, other.problems) == ([], [])


def _promote(endpoint: Endpoint, alice: User, bob: User) -> None:
    request = rollout_requests.request_promotion(
        endpoint.profile, by=alice, reason="it is measured"
    )
    rollout_requests.approve(request, by=bob, reason="so it is")


def _advance_clock(vendors: str) -> None:
    """Advance to the next stage of the story."""
    with httpx.Client(trust_env=False) as client:
        client.post(f"{vendors}/_clock", json={"advance": SWAPS}).raise_for_status()


def _start_run(page: Page, suite: str) -> None:
    page.goto("/endpoints/swapped/", wait_until="networkidle")
    page.get_by_role("link", name="Re-probe").click()
    page.get_by_role("button", name=f"Start the {suite} run").click()
    expect(page.get_by_role("dialog")).to_be_hidden()


def _reload_until(page: Page, part: str, text: str) -> None:
    """Reload until the results of runs are shown, however busy the machine is."""

    def is_there() -> bool:
        page.reload(wait_until="networkidle")
        return text in page.locator(part).inner_text()

    eventually(is_there, seconds=120)
