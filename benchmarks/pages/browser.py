"""How long a real browser takes until a page is interactive."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from statistics import median

from django.conf import settings
from playwright.sync_api import Browser, sync_playwright

from launcher import ports
from launcher.services import ROOT, web_arguments
from tests.browser import chromium

LOADS = 8
# Scripts are deferred: after this event every key and every button works.
READY = """() => {
  const [loaded] = performance.getEntriesByType("navigation");
  return loaded.domContentLoadedEventEnd;
}"""


def interactive_ms(databases: list[str], session: str, path: str) -> list[float] | None:
    """The median for each database, in turns; None without a browser."""
    with sync_playwright() as playwright:
        executable = chromium.find_browser(playwright)
        if executable is None:
            return None
        browser = chromium.launch_browser(playwright, executable)
        with ExitStack() as servers:
            urls = [servers.enter_context(_run_server(database)) for database in databases]
            loads = [[_load_ms(browser, url, session, path) for url in urls] for _ in range(LOADS)]
        browser.close()
    # The servers are cold at the first load.
    return [median(times) for times in zip(*loads[1:], strict=True)]


def _load_ms(browser: Browser, url: str, session: str, path: str) -> float:
    """Load in a fresh context: nothing of the page is cached."""
    context = browser.new_context(base_url=url)
    name = settings.SESSION_COOKIE_NAME
    context.add_cookies([{"name": name, "value": session, "url": url}])
    page = context.new_page()
    page.goto(path, wait_until="load")
    assert page.locator(".row-link").count()
    ready = page.evaluate(READY)
    context.close()
    return float(ready)


@contextmanager
def _run_server(database: str) -> Iterator[str]:
    port = ports.free_port()
    url = f"http://{ports.LOOPBACK}:{port}"
    command = [sys.executable, *web_arguments(ports.LOOPBACK, port)]
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
            return  # not ready without a broker, but it serves pages
        except urllib.error.URLError:
            time.sleep(0.2)
        else:
            return
    raise TimeoutError(url)
