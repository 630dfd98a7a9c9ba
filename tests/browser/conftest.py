from __future__ import annotations

import asyncio
import socket
import sys
import urllib.error
import urllib.request
from asyncio import _set_running_loop as set_running_loop
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from playwright.sync_api import Browser, Page, sync_playwright

from dashboard.models.people import Role
from launcher.services import web_arguments
from tests.browser import chromium
from tests.browser.watch import Watch
from tests.factories import make_person
from tests.live import celery_worker, eventually, process
from tests.programs import require_program

PASSWORD = "correct horse battery"


@dataclass(frozen=True, slots=True)
class Site:
    """The running product: web and worker as processes, on the test database."""

    url: str
    log: Path


@pytest.fixture(scope="session")
def served(
    django_db_setup: None, static_files: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """One web process for all tests: it keeps no state between requests, so they can share it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    site = Site(f"http://127.0.0.1:{port}", tmp_path_factory.mktemp("site") / "web.log")
    command = [sys.executable, *web_arguments("127.0.0.1", port)]
    with process(command, site.log, PUBLIC_URL=site.url):
        eventually(lambda: _is_ready(site.url))
        yield site


@pytest.fixture
def site(transactional_db: None, served: Site) -> Site:
    """The product with an empty database, except for one person."""
    make_person("alice", Role.OPERATOR, password=PASSWORD)
    return served


@pytest.fixture
def worker(site: Site, tmp_path: Path) -> Iterator[None]:
    with celery_worker(tmp_path / "worker.log"):
        yield


@dataclass(frozen=True, slots=True)
class RunningBrowser:
    """A browser, and the event loop that Playwright drives it with."""

    browser: Browser
    loop: asyncio.AbstractEventLoop


@pytest.fixture(scope="session")
def running() -> Iterator[RunningBrowser]:
    """One browser per process: starting it takes longer than most tests."""
    with sync_playwright() as playwright:
        path = require_program(chromium.find_browser(playwright), chromium.ADVICE)
        running_browser = RunningBrowser(
            chromium.launch_browser(playwright, path), asyncio.get_running_loop()
        )
        set_running_loop(None)
        yield running_browser
        set_running_loop(running_browser.loop)


@pytest.fixture
def browser(site: Site, running: RunningBrowser) -> Iterator[Browser]:
    """The browser for one test.

    Between calls Playwright leaves its loop marked as the running one of this thread, and Django
    then touches no database. So the mark is set for as long as a test has the browser.
    """
    set_running_loop(running.loop)
    yield running.browser
    # No page may send a request while the next test starts with empty tables.
    for context in running.browser.contexts:
        context.close()
    set_running_loop(None)


@pytest.fixture
def open_page(browser: Browser, site: Site) -> Callable[..., tuple[Page, Watch]]:
    """A function that opens a page of a width and colour scheme, signed in, with its watch."""

    def open_(
        width: int = 1440, scheme: str = "light", username: str = "alice", **options: Any
    ) -> tuple[Page, Watch]:
        context = browser.new_context(
            base_url=site.url,
            viewport={"width": width, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
            **options,
        )
        cookie = settings.SESSION_COOKIE_NAME
        context.add_cookies([{"name": cookie, "value": _create_session(username), "url": site.url}])
        page = context.new_page()
        watch = Watch(page)
        page.goto("/")
        return page, watch

    return open_


def _create_session(name: str) -> str:
    """Sign in without the form; in a thread, because the event loop blocks database access here."""

    def sign_in() -> str:
        client = Client()
        client.force_login(User.objects.get(username=name))
        connection.close()
        return client.cookies[settings.SESSION_COOKIE_NAME].value

    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(sign_in).result()


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz") as answer:  # noqa: S310
            return bool(answer.status == 200)
    except urllib.error.URLError:
        return False
