from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone
from playwright.sync_api import Page, expect

from dashboard.accounts.session_store import SessionStore
from dashboard.models import Endpoint, PersonSession
from tests.browser.conftest import PASSWORD, Site
from tests.browser.watch import Watch
from tests.factories import make_endpoint, make_finished_run

PLACE = re.compile(r"/endpoints/steady/\?range=30d")


@pytest.fixture
def probed(site: Site) -> Endpoint:
    endpoint = make_endpoint()
    make_finished_run(endpoint)
    return endpoint


@pytest.mark.usefixtures("probed")
def test_a_session_that_ends_while_typing_loses_nothing(
    open_page: Callable[..., tuple[Page, Watch]],
) -> None:
    """A form sent after the session ended reports it, and keeps its text through the sign-in."""
    page, watch = open_page()
    page.goto("/endpoints/steady/?range=30d")
    mode = page.locator("[data-mode=strict_schema]")
    mode.get_by_text("Switch on…").click()
    mode.get_by_label("Reason").fill("schemas stumble")
    _end_sessions()

    mode.get_by_role("button", name="Switch strict_schema on").click()
    expect(page.get_by_text("Your session had ended, so nothing was sent.")).to_be_visible()
    _sign_in(page)

    expect(page).to_have_url(PLACE)
    expect(mode.get_by_label("Reason")).to_have_value("schemas stumble")
    expect(page.locator(".toast")).to_contain_text("It was not sent")
    mode.get_by_role("button", name="Switch strict_schema on").click()
    expect(mode).to_contain_text("by hand")

    # A form that arrived is not offered again.
    page.reload()
    expect(page.locator(".toast")).to_have_count(0)
    assert watch.problems == []


@pytest.mark.usefixtures("probed")
def test_a_page_that_only_refreshes_itself_comes_back_to_its_place(
    open_page: Callable[..., tuple[Page, Watch]],
) -> None:
    """A polling part redirects the page to the sign-in, and back with its filters."""
    page, watch = open_page()
    page.goto("/endpoints/steady/?range=30d", wait_until="load")
    _end_sessions()

    page.evaluate("htmx.trigger(document.body, 'modes-changed')")
    expect(page).to_have_url(re.compile("/login/"))
    expect(page.locator(".message")).to_have_count(0)
    _sign_in(page)

    expect(page).to_have_url(PLACE)
    assert watch.problems == []


def test_a_form_of_an_older_session_explains_what_to_do(
    open_page: Callable[..., tuple[Page, Watch]],
) -> None:
    """After a new sign-in in another tab an old form reports the failure and keeps its text."""
    page, watch = open_page()
    page.goto("/endpoints/new/")
    page.get_by_label("Name").fill("my-endpoint")
    page.context.clear_cookies(name="csrf")

    page.get_by_role("button", name="Add endpoint").click()
    expect(page.get_by_role("heading", name="This form is too old")).to_be_visible()
    page.get_by_role("link", name="Open the page again").click()

    expect(page.get_by_label("Name")).to_have_value("my-endpoint")
    expect(page.locator(".toast")).to_contain_text("It was not sent")
    assert [problem for problem in watch.problems if "403" not in problem] == []


def test_a_confirmation_in_between_loses_nothing(
    open_page: Callable[..., tuple[Page, Watch]],
) -> None:
    """A key entered long after the sign-in needs a confirmation, which keeps the form's text."""
    page, watch = open_page()
    page.goto("/endpoints/new/")
    page.get_by_label("Name").fill("my-endpoint")
    page.get_by_label("API key").fill("sk-1")
    _in_a_thread(_make_stale)

    page.get_by_role("button", name="Add endpoint").click()
    expect(page.get_by_text("Nothing was sent yet: confirm that it is you")).to_be_visible()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Confirm").click()

    expect(page).to_have_url(re.compile("/endpoints/new/"))
    expect(page.get_by_label("Name")).to_have_value("my-endpoint")
    expect(page.get_by_label("API key")).to_have_value("")
    expect(page.locator(".toast")).to_contain_text("It was not sent")
    assert watch.problems == []


def test_an_unreachable_server_is_reported_until_it_is_back(
    open_page: Callable[..., tuple[Page, Watch]],
) -> None:
    """The page shows since when it is outdated, until the next answer arrives."""
    page, watch = open_page()
    page.goto("/incidents/")
    request_script = "() => htmx.ajax('GET', '/settings/system/', {swap: 'none'}).catch(() => null)"
    page.wait_for_function("window.htmx")

    page.route("**/settings/system/", lambda route: route.abort())
    page.evaluate(request_script)
    expect(page.get_by_text(re.compile(r"Not updated since .+: the server"))).to_be_visible()

    page.unroute("**/settings/system/")
    page.evaluate(request_script)
    expect(page.locator("[data-connection]")).to_be_hidden()
    # htmx logs each failed request on the console, as expected.
    assert all("ERR_FAILED" in problem or "htmx:" in problem for problem in watch.problems)


def _sign_in(page: Page) -> None:
    page.get_by_label("Username").fill("alice")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def _end_sessions() -> None:
    _in_a_thread(lambda: PersonSession.objects.all().delete())


def _make_stale() -> None:
    """Make the session look an hour old."""
    session = SessionStore(PersonSession.objects.get().pk)
    session["since"] = (timezone.now() - timedelta(hours=1)).isoformat()
    session.save()


def _in_a_thread(action: Callable[[], object]) -> None:
    """Run in a thread: the browser's event loop blocks database access here."""

    def run() -> None:
        action()
        connection.close()

    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(run).result()
