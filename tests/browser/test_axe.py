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
    "preload": False,  # only for rules about media and screen orientation, which are not used
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
# These tests visit all pages: on a busy machine they need more time than any other test.
pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def administrator(site: Site) -> User:
    User.objects.filter(username="alice").update(is_superuser=True, is_staff=True)
    return User.objects.get(username="alice")


@pytest.fixture
def filled(administrator: User) -> dict[str, list[str]]:
    return pages.fill_database()


@pytest.fixture
def living_page(administrator: User, settings: Settings) -> str:
    """The page of all components, which the site serves only in development."""
    client = Client()
    client.force_login(administrator)
    settings.DEBUG = True
    return client.get("/design/").content.decode()


def test_pages_are_accessible(
    filled: dict[str, list[str]],
    living_page: str,
    open_page: Callable[..., tuple[Page, Watch]],
) -> None:
    """axe-core finds no violation on any page with rows of every kind, in light and in dark."""
    page, watch = open_page(reduced_motion="reduce")
    # Colours depend on the page, not on the row: in dark one page of each kind is enough, except
    # for endpoints, which have the colours of every state.
    paths = [
        (path, number == 0 or name == "endpoint")
        for name in sorted(filled)
        for number, path in enumerate(filled[name])
        if name not in {"login", "design"}
    ]

    violations = [
        violation for path, dark in paths for violation in _run_axe(page, path, dark=dark)
    ]
    page.context.clear_cookies()
    violations += [violation for path in filled["login"] for violation in _run_axe(page, path)]
    # Last, since a browser that is told what to answer caches nothing.
    page.route(
        "**/design/", lambda route: route.fulfill(body=living_page, content_type="text/html")
    )
    violations += [violation for path in filled["design"] for violation in _run_axe(page, path)]

    assert not violations, "\n".join(violations)
    assert watch.problems == []


@pytest.mark.usefixtures("administrator")
def test_empty_pages_are_accessible(
    open_page: Callable[..., tuple[Page, Watch]],
) -> None:
    """axe-core finds no violation on the pages of a new installation."""
    page, watch = open_page(width=390, reduced_motion="reduce")
    paths = [f"/{_route(name)}" for name in pages.EMPTY]

    violations = [violation for path in paths for violation in _run_axe(page, path, dark=False)]

    assert not violations, "\n".join(violations)
    assert watch.problems == []


def test_every_page_is_covered(filled: dict[str, list[str]]) -> None:
    """Every URL is listed either as a page or as no page."""
    names = {str(pattern.name) for pattern in urlpatterns}

    assert names == set(filled) | pages.NOT_PAGES


def _run_axe(page: Page, path: str, *, dark: bool = True) -> list[str]:
    """The violations on a page: of all rules in light, of contrast also in dark."""
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.goto(path)
    page.evaluate("document.querySelectorAll('details').forEach(part => (part.open = true))")
    page.evaluate(AXE_SCRIPT)
    violations = [f"{path} {violation}" for violation in page.evaluate(RUN, ALL)]
    if not dark:
        return violations
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    return violations + [f"{path} dark {violation}" for violation in page.evaluate(RUN, CONTRAST)]


def _route(name: str) -> str:
    return next(str(pattern.pattern) for pattern in urlpatterns if pattern.name == name)
