from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Page
from pytest_django import Settings

from dashboard.urls import urlpatterns
from tests.browser import pages
from tests.browser.conftest import Site
from tests.browser.watch import Watch

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
ALL: dict[str, Any] = {
    "runOnly": {"type": "tag", "values": TAGS},
    "rules": {"target-size": {"enabled": True}},
    "resultTypes": ["violations"],
    "preload": False,  # for rules about media and about how a screen is held; there are none here
}
RUN = """async (options) => {
  const { violations } = await axe.run(document, options);
  const words = (id, node) => `${id}: ${node.target} ${node.failureSummary}`;
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => words(id, node)));
}"""
# Of all rules only this one depends on the colour scheme.
CONTRAST: dict[str, Any] = {
    "runOnly": {"type": "rule", "values": ["color-contrast"]},
    "resultTypes": ["violations"],
    "preload": False,
}
# Whole walks through all pages: on a busy machine they need more time than any other test.
pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def administrator(site: Site) -> User:
    User.objects.filter(username="alice").update(is_superuser=True, is_staff=True)
    return User.objects.get(username="alice")


@pytest.fixture
def filled(administrator: User) -> dict[str, list[str]]:
    return pages.fill()


@pytest.fixture
def living_page(administrator: User, settings: Settings) -> str:
    """The page of all parts, which the site itself shows only in development."""
    client = Client()
    client.force_login(administrator)
    settings.DEBUG = True
    return client.get("/design/").content.decode()


def test_nobody_is_shut_out(
    filled: dict[str, list[str]],
    living_page: str,
    open_page: Callable[..., tuple[Page, Watch]],
) -> None:
    """axe-core finds nothing on any page with rows of every kind, in light and in dark."""
    page, watch = open_page(reduced_motion="reduce")
    page.route(
        "**/design/", lambda route: route.fulfill(body=living_page, content_type="text/html")
    )
    # Colours are a page's, not a row's: in dark one of each kind is enough, but for endpoints,
    # which have the colours of every state.
    paths = [
        (path, number == 0 or name == "endpoint")
        for name in sorted(filled)
        for number, path in enumerate(filled[name])
        if name != "login"
    ]

    found = [trouble for path, dark in paths for trouble in _look(page, path, dark=dark)]
    page.context.clear_cookies()
    found += [trouble for path in filled["login"] for trouble in _look(page, path)]

    assert not found, "\n".join(found)
    assert watch.troubles == []


@pytest.mark.usefixtures("administrator")
def test_nobody_is_shut_out_of_what_is_still_empty(
    open_page: Callable[..., tuple[Page, Watch]],
) -> None:
    """axe-core finds nothing on the pages of a product that was just set up."""
    page, watch = open_page(width=390, reduced_motion="reduce")
    paths = [f"/{_route(name)}" for name in pages.EMPTY]

    found = [trouble for path in paths for trouble in _look(page, path, dark=False)]

    assert not found, "\n".join(found)
    assert watch.troubles == []


def test_every_page_is_looked_at(filled: dict[str, list[str]]) -> None:
    """A new address is either in the list of pages or said to be none."""
    names = {str(each.name) for each in urlpatterns}

    assert names == set(filled) | pages.NOT_PAGES


def _look(page: Page, path: str, *, dark: bool = True) -> list[str]:
    """What axe-core finds there: everything in light, contrast also in dark."""
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.goto(path)
    page.evaluate("document.querySelectorAll('details').forEach(part => (part.open = true))")
    page.evaluate(AXE_SCRIPT)
    found = [f"{path} {each}" for each in page.evaluate(RUN, ALL)]
    if not dark:
        return found
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    return found + [f"{path} dark {each}" for each in page.evaluate(RUN, CONTRAST)]


def _route(name: str) -> str:
    return next(str(each.pattern) for each in urlpatterns if each.name == name)
