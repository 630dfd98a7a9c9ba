"""Takes the pictures of docs/screenshots from a running instance.

python -m tests.browser.screenshots --url http://127.0.0.1:8000 --user admin --endpoint demo-fading
The password is read from TOOLGAUGE_PASSWORD, or asked for.
"""

from __future__ import annotations

import argparse
import getpass
import os
import sys
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser import chromium

OUT = Path(__file__).resolve().parents[2] / "docs" / "screenshots"
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDTHS = (1440, 390)


def main() -> int:
    options = _parser().parse_args()
    password = os.environ.get("TOOLGAUGE_PASSWORD") or getpass.getpass()
    with sync_playwright() as playwright:
        path = chromium.find(playwright)
        if path is None:
            print("No browser found; set CHROMIUM_PATH.", file=sys.stderr)
            return 2
        browser = chromium.launch(playwright, path)
        for scheme in SCHEMES:
            for width in WIDTHS:
                page = _page(browser, options.url, scheme, width)
                _sign_in(page, options.user, password)
                _take(page, "/", f"fleet-{scheme}-{width}")
                month = f"/endpoints/{options.endpoint}/?range=30d"
                _take(page, month, f"endpoint-{scheme}-{width}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Take the pictures of docs/screenshots.")
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--user", default="admin")
    parser.add_argument("--endpoint", default="demo-fading")
    return parser


def _page(browser: Browser, url: str, scheme: Literal["light", "dark"], width: int) -> Page:
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


def _take(page: Page, path: str, name: str) -> None:
    page.goto(path, wait_until="networkidle")
    OUT.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=OUT / f"{name}.png")
    print(f"{name}.png", file=sys.stderr)


if __name__ == "__main__":
    raise SystemExit(main())
