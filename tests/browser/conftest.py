from __future__ import annotations

import os
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser import chromium
from tests.browser.watch import Watch
from tests.live import celery_worker, eventually, process

PASSWORD = "correct horse battery"


@dataclass(frozen=True, slots=True)
class Site:
    """The product as it runs: web and worker as processes, on the test database."""

    url: str
    log: Path


@pytest.fixture
def site(transactional_db: None, static_files: Path, tmp_path: Path) -> Iterator[Site]:
    User.objects.create_user("alice", password=PASSWORD)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    found = Site(f"http://127.0.0.1:{port}", tmp_path / "web.log")
    command = [sys.executable, "-m", "uvicorn", "config.asgi:application", "--lifespan", "off"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--no-access-log"]
    with process(command, found.log, PUBLIC_URL=found.url):
        eventually(lambda: _is_ready(found.url))
        yield found


@pytest.fixture
def worker(site: Site, tmp_path: Path) -> Iterator[None]:
    with celery_worker(tmp_path / "worker.log"):
        yield


@pytest.fixture
def browser(site: Site) -> Iterator[Browser]:
    """A fresh browser for each test: its event loop would keep the database from being touched."""
    with sync_playwright() as playwright:
        path = chromium.find(playwright)
        if path is None:
            reason = "NO BROWSER: set CHROMIUM_PATH or install chromium; nothing was tested here"
            if os.environ.get("CI") == "true":
                pytest.fail(reason)
            pytest.skip(reason)
        yield chromium.launch(playwright, path)


@pytest.fixture
def open_page(browser: Browser, site: Site) -> Callable[..., tuple[Page, Watch]]:
    """A signed-in page of the given width and colour scheme, and what watches it."""

    def open_(width: int = 1440, scheme: str = "light") -> tuple[Page, Watch]:
        context = browser.new_context(
            base_url=site.url,
            viewport={"width": width, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
        )
        page = context.new_page()
        watch = Watch(page)
        page.goto("/login/")
        page.get_by_label("Username").fill("alice")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("/")
        return page, watch

    return open_


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz") as answer:  # noqa: S310
            return bool(answer.status == 200)
    except urllib.error.URLError:
        return False
