"""The gate before sign-ins: a flood waits or is refused before it reaches Django."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.test import Client
from starlette.types import Receive, Scope, Send

from dashboard import sign_in_gate
from dashboard.accounts import known_browsers
from dashboard.sign_in_gate import SignInGate

pytestmark = pytest.mark.usefixtures("static_files")
PAGE = {"Accept": "text/html,application/xhtml+xml"}
TOO_LARGE = b"x" * (64 * 1024 + 1)
FORM = {"username": "bob", "password": "x"}


@pytest.fixture(autouse=True)
def nobody_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_in_gate, "REFUSAL_DELAY_S", 0.0)
    monkeypatch.setattr(sign_in_gate, "INTERVAL_S", 0.0)


class Inside:
    """What stands behind the gate: counts, and answers when it is told to."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.bodies: list[bytes] = []
        self.now, self.most = 0, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        self.bodies.append((await receive())["body"])
        await self.may_answer.wait()
        self.now -= 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def some_address() -> str:
    """Each test comes from another one: the process counts for longer than a test takes."""
    return ".".join(str(random.randrange(1, 250)) for _ in range(4))


@asynccontextmanager
async def visitor(gate: SignInGate, address: str = "") -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(gate, client=(address or some_address(), 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
        yield client


async def until(claim: Callable[[], bool]) -> None:
    while not claim():
        await asyncio.sleep(0)


def run(scene: Callable[[Inside, SignInGate], Awaitable[None]]) -> None:
    async def play() -> None:
        inside = Inside()
        await scene(inside, SignInGate(inside))

    asyncio.run(play())


def known_cookie() -> dict[str, str]:
    response = HttpResponse()
    known_browsers.remember_browser(HttpRequest(), response, "bob")
    name = settings.BROWSER_COOKIE_NAME
    return {"Cookie": f"{name}={response.cookies[name].value}"}


def test_one_at_a_time_a_few_wait_and_the_rest_are_refused() -> None:
    """By 503 if the queue is full, by 429 if one address sends too many; all say when to retry."""

    async def scene(inside: Inside, gate: SignInGate) -> None:
        async with visitor(gate) as client:
            flood = [asyncio.create_task(client.post("/login/", data=FORM, headers=PAGE))
                     for _ in range(80)]  # fmt: skip
            await until(lambda: sum(each.done() for each in flood) == 80 - 17)
            refused = [each.result() for each in flood if each.done()]
            inside.may_answer.set()
            answers = await asyncio.gather(*flood)

        statuses = [answer.status_code for answer in answers]
        counts = {status: statuses.count(status) for status in sorted(set(statuses))}
        assert counts == {200: 17, 429: 50, 503: 13}
        assert inside.most == 1
        for answer in refused:
            assert int(answer.headers["Retry-After"]) > 0
            assert "was not checked" in answer.text
            assert "Sign-in is busy" in answer.text

    run(scene)


def test_strangers_do_not_keep_known_browsers_out() -> None:
    """Where a person has signed in before, they do not wait behind strangers; each such browser
    has a limit of its own. A forged cookie is a stranger's."""

    async def scene(inside: Inside, gate: SignInGate) -> None:
        async with visitor(gate) as client:
            strangers = [asyncio.create_task(client.post("/login/")) for _ in range(40)]
            await until(lambda: sum(each.done() for each in strangers) == 40 - 17)
            forged = {"Cookie": f"{known_cookie()['Cookie'][:-1]}_"}
            assert (await client.post("/login/", headers=forged)).status_code == 429
            known = asyncio.create_task(client.post("/login/", headers=known_cookie()))
            await until(lambda: inside.now == 2)
            inside.may_answer.set()
            assert (await known).status_code == 200
            cookie = known_cookie()
            again = [await client.post("/login/", headers=cookie) for _ in range(31)]
            await asyncio.gather(*strangers)

        assert [answer.status_code for answer in again] == [200] * 30 + [429]

    run(scene)


def test_all_addresses_together_have_a_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a burst, one per interval, however many addresses a flood comes from."""
    monkeypatch.setattr(sign_in_gate, "INTERVAL_S", 3600.0)

    async def scene(inside: Inside, gate: SignInGate) -> None:
        inside.may_answer.set()

        async def send_one() -> int:
            async with visitor(gate) as client:
                return (await client.post("/login/")).status_code

        burst = [await send_one() for _ in range(sign_in_gate.BURST)]
        waiting = [asyncio.create_task(send_one()) for _ in range(40)]
        await until(lambda: sum(each.done() for each in waiting) == 40 - 17)
        refused = {each.result() for each in waiting if each.done()}
        for each in waiting:
            each.cancel()

        assert (burst, refused) == ([200] * sign_in_gate.BURST, {503})
        assert len(inside.bodies) == sign_in_gate.BURST

    run(scene)


def test_a_form_that_never_ends_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read before its turn, up to a size and a time; the others arrive whole."""
    monkeypatch.setattr(sign_in_gate, "BODY_TIMEOUT_S", 0.05)

    async def endless() -> AsyncIterator[bytes]:
        yield b"username=bob"
        await asyncio.Event().wait()

    async def scene(inside: Inside, gate: SignInGate) -> None:
        inside.may_answer.set()
        async with visitor(gate) as client:
            slow = asyncio.create_task(client.post("/login/", content=endless()))
            await asyncio.sleep(0)
            assert (await client.post("/login/", data=FORM)).status_code == 200
            assert inside.bodies == [b"username=bob&password=x"]
            large = await client.post("/login/", content=TOO_LARGE)
            assert (large.status_code, (await slow).status_code) == (413, 413)

    run(scene)


def test_only_forms_that_check_secrets_pass_the_gate() -> None:
    """Everything else goes straight on, however many sign-ins wait."""

    async def scene(inside: Inside, gate: SignInGate) -> None:
        async with visitor(gate) as client:
            gated = ["/login/", "/login/code/", "/login/passkey/", "/invitations/tg_invite_x/"]
            waiting = [asyncio.create_task(client.post(path)) for path in gated]
            free: list[Any] = [client.get("/login/"), client.get("/"), client.post("/logout/")]
            others = [asyncio.create_task(each) for each in free]
            await until(lambda: inside.now == 1 + len(others))
            inside.may_answer.set()
            await asyncio.gather(*waiting, *others)

    run(scene)


@pytest.mark.django_db
def test_refusals_are_pages_for_people_and_problems_for_programs() -> None:
    """In the reader's language, and with the headers of every other page."""

    async def scene(_inside: Inside, gate: SignInGate) -> None:
        async with visitor(gate) as client:
            for headers in (PAGE, {**PAGE, "Accept-Language": "zh-Hans"}, {}):
                pages.append(await client.post("/login/", content=TOO_LARGE, headers=headers))

    pages: list[httpx.Response] = []
    run(scene)
    page, chinese, problem = pages

    assert '<html lang="en">' in page.text
    assert '<html lang="zh-hans">' in chinese.text
    assert problem.headers["Content-Type"] == "application/problem+json"
    assert (problem.json()["code"], problem.json()["status"]) == ("too_large", 413)
    usual = Client().get("/login/").headers
    names = {"Content-Security-Policy", "X-Frame-Options", "X-Content-Type-Options"}
    names |= {"Referrer-Policy", "Cross-Origin-Opener-Policy", "Permissions-Policy"}
    for answer in pages:
        assert {name: answer.headers[name] for name in names} == {
            name: usual[name] for name in names
        }
        assert answer.headers["X-Request-ID"]
        assert answer.headers["Cache-Control"] == "no-store"
