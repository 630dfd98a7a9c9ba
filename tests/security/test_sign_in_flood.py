"""Many sign-ins at once against the real web process. benchmarks.sign_in_flood measures it."""

from __future__ import annotations

import re
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

import pytest

from launcher import ports
from launcher.services import web_arguments
from tests.live import eventually, process

SIGN_INS = 60


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("static_files")
def test_a_flood_is_answered_by_pages_and_never_by_a_fault(tmp_path: Path) -> None:
    """From as many addresses, and with few database connections; others still get their page."""
    port = ports.free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, *web_arguments(ports.LOOPBACK, port)]
    env = {"PUBLIC_URL": url, "DATABASE_POOL_SIZE": "2", "TRUSTED_PROXIES": "1"}
    with process(command, tmp_path / "web.log", **env):
        eventually(lambda: ports.http_status(port, "/readyz") == 200)
        form = read_form(url)
        with ThreadPoolExecutor(SIGN_INS) as threads:
            answers = [threads.submit(form.send, number) for number in range(SIGN_INS)]
            eventually(lambda: ports.http_status(port, "/readyz") == 200)
        statuses = [answer.result() for answer in answers]

    assert set(statuses) == {200, 503}


class Form:
    def __init__(self, url: str, cookie: str, token: str) -> None:
        self.url, self.cookie, self.token = url, cookie, token

    def send(self, number: int) -> int:
        """The status of one sign-in with an invented name."""
        fields = {"username": f"name-{number}", "password": "wrong"}
        body = urlencode({**fields, "csrfmiddlewaretoken": self.token}).encode()
        headers = {"Cookie": self.cookie, "Accept": "text/html"}
        headers["X-Forwarded-For"] = f"198.51.100.{number}"
        request = urllib.request.Request(f"{self.url}/login/", body, headers)  # noqa: S310
        try:
            with urllib.request.urlopen(request) as answer:  # noqa: S310
                return int(answer.status)
        except urllib.error.HTTPError as refused:
            return refused.code if "Retry-After" in refused.headers else 0


def read_form(url: str) -> Form:
    with urllib.request.urlopen(f"{url}/login/") as answer:  # noqa: S310
        found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', answer.read().decode())
        assert found
        return Form(url, str(answer.headers["Set-Cookie"]).partition(";")[0], found[1])
