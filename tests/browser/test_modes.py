from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect

from dashboard.models import Incident
from dashboard.models.people import Role, Scope
from dashboard.people.services import tokens
from tests.browser.conftest import PASSWORD, Site
from tests.browser.watch import Watch
from tests.dashboard.incidents.builders import degrade
from tests.factories import make_endpoint, make_finished_run, make_person


@pytest.fixture
def key(site: Site) -> str:
    """The token of a caller of the policy."""
    alice = User.objects.get(username="alice")
    return tokens.issue_token(name="caller", scopes=[Scope.READ.value], lasts=None, by=alice).text


@pytest.fixture
def probed(site: Site) -> None:
    """An endpoint with enough runs for a chart."""
    endpoint = make_endpoint()
    for hours in (5, 3, 1):
        make_finished_run(endpoint, at=timezone.now() - timedelta(hours=hours))


@pytest.fixture
def bob(site: Site) -> User:
    return make_person("bob", Role.OPERATOR, password=PASSWORD)


@pytest.fixture
def fallen(site: Site) -> Incident:
    return degrade(make_endpoint(slug="x" * 60))


@pytest.mark.usefixtures("probed")
def test_a_mode_is_toggled_by_hand_and_reaches_chart_and_policy(
    key: str, open_page: Callable[..., tuple[Page, Watch]]
) -> None:
    """A mode switched on is in the card, the chart and the policy until it is undone."""
    page, watch = open_page()
    page.goto("/endpoints/steady/", wait_until="networkidle")
    mode = page.locator("[data-mode=strict_schema]")

    mode.get_by_text("Switch on…").click()
    mode.get_by_label("Reason").fill("schemas stumble")
    mode.get_by_label("For").select_option("1 day")
    mode.get_by_role("button", name="Switch strict_schema on").click()

    expect(mode).to_contain_text("schemas stumble")
    expect(mode).to_contain_text("ends in 23 h")
    expect(page.locator("[data-chart] .legend")).to_contain_text("Mode on")
    assert _read_manual_modes(page, key) == ["strict_schema"]

    mode.get_by_role("button", name="Undo strict_schema").click()

    expect(mode.get_by_role("button", name="Undo strict_schema")).to_have_count(0)
    assert _read_manual_modes(page, key) == []
    assert watch.problems == []


@pytest.mark.usefixtures("probed", "bob")
def test_two_people_at_one_toggle_end_in_one_state(
    open_page: Callable[..., tuple[Page, Watch]],
) -> None:
    """The second person learns who was first, and both pages show the same state."""
    alice, watch = open_page()
    bob, other = open_page()
    _sign_in(bob, "bob")
    for page in (alice, bob):
        page.goto("/endpoints/steady/", wait_until="networkidle")
        mode = page.locator("[data-mode=strict_schema]")
        mode.get_by_text("Switch on…").click()
        mode.get_by_label("Reason").fill(f"{'first' if page is alice else 'second'} reason")

    for page in (alice, bob):
        page.get_by_role("button", name="Switch strict_schema on").click()
        expect(page.get_by_role("button", name="Undo strict_schema")).to_be_visible()

    refused = bob.locator("#modes [role=alert]")
    expect(refused).to_have_text("alice has switched strict_schema on meanwhile: first reason")
    expect(bob.locator("[data-mode=strict_schema]")).to_contain_text("first reason")

    for page in (bob, alice):
        page.get_by_role("button", name="Undo strict_schema").click()
    # Either click can arrive first; exactly one of them must.
    messages = {page: page.locator("#modes .message") for page in (bob, alice)}
    for message in messages.values():
        expect(message).to_have_text(re.compile(r"^(strict_schema is off|\w+ had switched .*)\.$"))
    first = bob if messages[bob].inner_text() == "strict_schema is off." else alice
    second, name = (alice, "bob") if first is bob else (bob, "alice")
    expect(messages[first]).to_have_text("strict_schema is off.")
    expect(messages[second]).to_have_text(f"{name} had switched strict_schema off already.")
    for page in (bob, alice):
        expect(page.get_by_role("button", name="Undo strict_schema")).to_have_count(0)
    assert (watch.problems, other.problems) == ([], [])


def test_pages_of_incidents_fit_a_phone(
    fallen: Incident, open_page: Callable[..., tuple[Page, Watch]]
) -> None:
    """With a long name and an open incident no page is wider than 390 pixels."""
    page, watch = open_page(width=390, scheme="dark")
    paths = ["/", "/incidents/", f"/incidents/{fallen.pk}/", "/settings/maintenance/"]
    endpoint_path = f"/endpoints/{'x' * 60}/"

    for path in [*paths, f"{endpoint_path}?range=all", f"{endpoint_path}probe/"]:
        page.goto(path, wait_until="networkidle")
        for summary in page.locator("summary").all():
            summary.click()
        extra = page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth")
        assert extra <= 0, path

    assert watch.problems == []


def _sign_in(page: Page, name: str) -> None:
    """Sign in as another person in this browser."""
    page.context.clear_cookies()
    page.goto("/login/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("/")


def _read_manual_modes(page: Page, key: str) -> list[str]:
    answer = page.request.get(
        "/api/v1/endpoints/steady/policy", headers={"Authorization": f"Bearer {key}"}
    )
    return [mode["mode"] for mode in answer.json()["modes"]["manual"]]
