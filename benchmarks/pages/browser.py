"""How long a real browser takes until a page can be used."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from django.conf import settings
from playwright.sync_api import Page, sync_playwright

from launcher import ports
from launcher.parts import ROOT
from tests.browser import chromium

LOADS = 7
# Scripts are deferred: when this moment has come, every key and every button works.
READY = """() => {
  const [loaded] = performance.getEntriesByType("navigation");
  return [loaded.domContentLoadedEventEnd, loaded.responseStart, loaded.transferSize];
}"""


def interactive_ms(databases: list[str], session: str, path: str) -> list[float] | None:
    """The median for each of the databases, by turns; None where there is no browser."""
    with sync_playwright() as playwright:
        found = chromium.find(playwright)
        if found is None:
            return None
        browser = chromium.launch(playwright, found)
        taken: list[list[float]] = [[] for _ in databases]
        for _ in range(LOADS):
            for database, times in zip(databases, taken, strict=True):
                with _serving(database) as url:
                    context = browser.new_context(base_url=url)
                    name = settings.SESSION_COOKIE_NAME
                    context.add_cookies([{"name": name, "value": session, "url": url}])
                    times.append(_loaded(context.new_page(), path))
                    context.close()
    return [median(times) for times in taken]


def _loaded(page: Page, path: str) -> float:
    # The first load finds the server cold and the style sheets missing.
    page.goto(path, wait_until="load")
    page.goto(path, wait_until="load")
    assert page.locator(".row-link").count()
    ready, _, _ = page.evaluate(READY)
    return float(ready)


@contextmanager
def _serving(database: str) -> Iterator[str]:
    port = ports.free_port()
    url = f"http://{ports.LOOPBACK}:{port}"
    command = [sys.executable, "-m", "uvicorn", "config.asgi:application", "--lifespan", "off"]
    command += ["--host", ports.LOOPBACK, "--port", str(port), "--no-access-log"]
    env = {**os.environ, "DATABASE_URL": database, "PUBLIC_URL": url}
    child = subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait(f"{url}/readyz")
        yield url
    finally:
        child.terminate()
        child.wait(60)


def _wait(url: str, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(url).close()  # noqa: S310 -- our own server
        except urllib.error.HTTPError:
            return  # no broker, so not ready for work; it serves pages all the same
        except urllib.error.URLError:
            time.sleep(0.2)
        else:
            return
    raise TimeoutError(url)
