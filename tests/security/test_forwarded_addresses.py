"""Addresses behind a real proxy: TRUSTED_PROXIES decides, and nothing a client writes does."""

from __future__ import annotations

import http.client
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from django.conf import settings
from redis import Redis

from dashboard.models.audit import Action
from launcher import ports
from launcher.services import web_arguments
from tests.live import eventually, process
from tests.security import nginx
from tests.security.people import audit_entries

pytestmark = pytest.mark.usefixtures("transactional_db")
FORM = "application/x-www-form-urlencoded"
# uvicorn's default is to believe this peer. All of 127.0.0.0/8 is this machine.
BELIEVED, OTHER = "127.0.0.1", "127.0.0.66"
# Name, the forger's address, whether nginx is in front, TRUSTED_PROXIES, and what is recorded.
WAYS = [
    ("direct", BELIEVED, False, 0, BELIEVED),
    ("nginx, not trusted", OTHER, True, 0, BELIEVED),
    ("nginx, trusted", OTHER, True, 1, OTHER),
]
# Redis counts for longer than this test takes, so it counts in a database of its own.
COUNTS = urlsplit(settings.REDIS_URL)._replace(path="/13").geturl()


@dataclass(frozen=True, slots=True)
class Site:
    """How the forger reaches the product, and the address that it must record."""

    port: int
    forger: str
    recorded: str

    def send(
        self, number: int, method: str, path: str, body: str = "", **headers: str
    ) -> tuple[http.client.HTTPResponse, str]:
        """Send a request that claims another origin each time, in every usual spelling."""
        claimed = f"198.51.100.{number}"
        forged = {"X-Forwarded-For": f"{claimed}, {claimed}", "X-Real-IP": claimed}
        forged |= {"Forwarded": f"for={claimed}", "X-Client-IP": claimed}
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.port, source_address=(self.forger, 0)
        )
        with closing(connection):
            connection.request(method, path, body, {**forged, **headers})
            answer = connection.getresponse()
            return answer, answer.read().decode()


@pytest.fixture(scope="module", params=WAYS, ids=[way[0] for way in WAYS])
def site(
    request: pytest.FixtureRequest,
    django_db_setup: None,
    static_files: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Site]:
    """The web process as the launcher starts it."""
    _name, forger, is_behind_nginx, proxies, recorded = request.param
    Redis.from_url(COUNTS).flushdb()
    folder, port = tmp_path_factory.mktemp("web"), ports.free_port()
    command = [sys.executable, *web_arguments(ports.LOOPBACK, port)]
    env = {"TRUSTED_PROXIES": str(proxies), "API_AUTH_FAILURES": "2/h", "REDIS_URL": COUNTS}
    with ExitStack() as running:
        running.enter_context(process(command, folder / "web.log", **env))
        eventually(lambda: ports.http_status(port, "/readyz") == 200)
        if is_behind_nginx:
            port = running.enter_context(nginx.run_nginx(folder, port))
        yield Site(port, forger, recorded)


def test_forged_addresses_do_not_help_to_guess_a_password(site: Site) -> None:
    """All guesses count for the address they came from, and the audit log has that one."""
    answer, page = site.send(0, "GET", "/login/")
    cookie = str(answer.headers["Set-Cookie"]).partition(";")[0]
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert found
    form = {"username": "bob", "password": "wrong", "csrfmiddlewaretoken": found[1]}
    headers = {"Cookie": cookie, "Content-Type": FORM}

    answers = [
        site.send(number, "POST", "/login/", urlencode(form), **headers) for number in range(1, 8)
    ]

    assert [answer.status for answer, _page in answers] == [200] * 4 + [429] * 3
    entries = audit_entries(Action.SIGN_IN_FAILED)
    assert {entry["origin"]["address"] for entry in entries} == {site.recorded}


def test_forged_addresses_do_not_help_to_guess_a_token(site: Site) -> None:
    """Wrong tokens are counted per address, and the third of an hour is refused here."""
    wrong = {"Authorization": "Bearer tg_abcdefgh_" + "x" * 43}

    answers = [site.send(number, "GET", "/api/v1/endpoints", **wrong) for number in range(4)]

    assert [answer.status for answer, _body in answers] == [401, 401, 429, 429]
