"""Takes screenshots of a running instance: of every page for review, of some for docs/.

python -m tests.browser.screenshots --url http://127.0.0.1:8000 --user admin --into /tmp/pictures
python -m tests.browser.screenshots --docs
The password is read from TOOLGAUGE_PASSWORD or from a prompt.
"""

from __future__ import annotations

import argparse
import getpass
import os
import re
import sys
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser import chromium

DOCS = Path(__file__).resolve().parents[2] / "docs" / "screenshots"
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDTHS = (1440, 390)
DOCS_PAGES = ("fleet", "endpoint", "attempt", "compare")  # in docs/
# Pages that are reached by a link from an earlier one: name, start page, pattern of the link.
LINKED_PAGES = (
    ("rollout", "/rollouts/", r"^/rollouts/\d+/$"),
    ("audit-entry", "/audit/", r"^/audit/\d+/$"),
    ("person", "/settings/people/", r"^/settings/people/\d+/$"),
    ("team", "/settings/teams/", r"^/settings/teams/\d+/$"),
    ("incident", "/incidents/", r"^/incidents/\d+/$"),
    ("run", "/endpoints/{endpoint}/", r"^/runs/\d+/$"),
    ("attempt", "{run}", r"^/runs/\d+/attempts/[^/]+/\d+/$"),
)


def main() -> int:
    options = _build_parser().parse_args()
    password = os.environ.get("TOOLGAUGE_PASSWORD") or getpass.getpass()
    with sync_playwright() as playwright:
        path = chromium.find_browser(playwright)
        if path is None:
            print("No browser found; set CHROMIUM_PATH.", file=sys.stderr)
            return 2
        browser = chromium.launch_browser(playwright, path)
        for scheme in SCHEMES:
            for width in WIDTHS:
                page = _open_page(browser, options.url, scheme, width)
                _sign_in(page, options.user, password)
                addresses = _find_pages(page, options)
                for name in DOCS_PAGES if options.docs else addresses:
                    into = DOCS if options.docs else options.into
                    _take_screenshot(
                        page,
                        addresses[name],
                        into / f"{name}-{scheme}-{width}.png",
                        not options.docs,
                    )
    return 0


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Take pictures of a running instance.")
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--user", default="admin")
    parser.add_argument("--endpoint", default="demo-fading")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--into", type=Path, help="folder for pictures of every page")
    what.add_argument("--docs", action="store_true", help="only those that docs/ shows")
    return parser


def _find_pages(page: Page, options: argparse.Namespace) -> dict[str, str]:
    """Every reachable page: fixed URLs, the settings, and linked pages."""
    endpoint: str = options.endpoint
    addresses = {"fleet": "/", "endpoint": f"/endpoints/{endpoint}/?range=30d"}
    addresses |= {"incidents": "/incidents/", "compare": "/compare/"}
    addresses |= {"rollouts": "/rollouts/", "audit": "/audit/", "confirm": "/confirm/"}
    addresses |= {"step-back": f"/endpoints/{endpoint}/step-back/"}
    addresses |= {"new": "/endpoints/new/", "edit": f"/endpoints/{endpoint}/edit/"}
    addresses |= {"remove": f"/endpoints/{endpoint}/remove/", "nothing": "/nothing-here/"}
    for name, start, pattern in LINKED_PAGES:
        address = start.format_map({**addresses, "endpoint": endpoint})
        if link := _first_link(page, address, pattern):
            addresses[name] = link
    addresses["settings"] = "/settings/"
    page.goto("/settings/system/")
    for tab in page.locator(".tabs a").all():
        address = tab.get_attribute("href") or ""
        if address.startswith("/settings/"):
            addresses[address.strip("/").replace("/", "-")] = address
    return addresses


def _first_link(page: Page, start: str, pattern: str) -> str | None:
    page.goto(start)
    links = [link.get_attribute("href") or "" for link in page.locator("main a").all()]
    return next((link for link in links if re.search(pattern, link)), None)


def _open_page(browser: Browser, url: str, scheme: Literal["light", "dark"], width: int) -> Page:
    size = {"width": width, "height": 900 if width > 1000 else 844}
    context = browser.new_context(
        base_url=url,
        color_scheme=scheme,
        viewport={"width": size["width"], "height": size["height"]},
    )
    return context.new_page()


def _sign_in(page: Page, user: str, password: str) -> None:
    page.goto("/login/")
    page.get_by_label("Username").fill(user)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("/")


def _take_screenshot(page: Page, path: str, file: Path, whole: bool) -> None:
    page.goto(path, wait_until="networkidle")
    file.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=file, full_page=whole)
    print(file.name, file=sys.stderr)


if __name__ == "__main__":
    raise SystemExit(main())
