"""The gate before sign-ins: strangers wait in a short queue, or are asked to come back later.

It stands before Django, on the event loop: a request that waits there, or is refused, takes no
thread, no database connection and no password hash, so that a flood of sign-ins leaves the web
process to the people who are signed in. One sign-in of strangers is handled at a time, at a bounded
pace; browsers in which a person has signed in before have a queue of their own.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import cast

from django.core.handlers.asgi import ASGIRequest
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponse
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.security import SecurityMiddleware
from django.template.loader import render_to_string
from django.utils import translation
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dashboard.accounts import known_browsers
from dashboard.accounts.known_browsers import KnownBrowser
from dashboard.api.errors import ApiError, error_response
from dashboard.core import http, rate_limits
from dashboard.core.rate_limits import Rate
from dashboard.middleware import Next, RequestLog, SecurityHeaders

# Everything that checks a password, a code, a passkey or a link of a visitor.
PATHS = ("/login/", "/login/code/", "/login/passkey/", "/login/passkey/options/")
LINKS = "/invitations/"

# Of one address, or of one known browser.
VISITOR_RATE = Rate("sign-ins", 30, 60.0)
# Of all visitors of a queue together: this many at once, then one per interval.
BURST, INTERVAL_S = 10, 0.5
MAX_WAITING = 16
# When it is their turn at the latest, if others wait too.
RETRY_AFTER_S = 10
# A refusal takes this long, so that a client that repeats at once costs little.
REFUSAL_DELAY_S, MAX_DELAYED = 1.0, 1000
# Forms of this size and pace; a passkey's is the largest.
MAX_BODY_BYTES, BODY_TIMEOUT_S = 64 * 1024, 10.0


@dataclass(frozen=True, slots=True)
class Refusal:
    status: int
    text: str  # for programs; people see a page
    wait_s: int = RETRY_AFTER_S


_FULL = Refusal(503, "Too many sign-ins are waiting. Send it again later.")
_TOO_LARGE = Refusal(413, "The form is too large, or it came too slowly.")


class Queue:
    """Visitors in the order of their arrival, one at a time."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._next_at = -math.inf

    @property
    def is_full(self) -> bool:
        return self._waiting >= MAX_WAITING

    @asynccontextmanager
    async def take_turn(self) -> AsyncIterator[None]:
        self._waiting += 1
        try:
            await self._turn.acquire()
        finally:
            self._waiting -= 1
        try:
            await asyncio.sleep(self._delay())
            yield
        finally:
            self._turn.release()

    def _delay(self) -> float:
        now = time.monotonic()
        self._next_at = max(self._next_at, now - BURST * INTERVAL_S) + INTERVAL_S
        return max(0.0, self._next_at - now)


class SignInGate:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._strangers, self._known = Queue(), Queue()
        self._delayed = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_sign_in(scope):
            return await self._app(scope, receive, send)
        body = await _read_body(receive)
        request = ASGIRequest(scope, BytesIO())
        browser = known_browsers.read_cookie(request)
        queue = self._known if browser else self._strangers
        if refusal := _find_refusal(request, body, browser, queue):
            await self._delay_refusal()
            return await _send_response(_refuse(request, refusal), send)
        async with queue.take_turn():
            await self._app(scope, _replay(body or b"", receive), send)

    async def _delay_refusal(self) -> None:
        if self._delayed >= MAX_DELAYED:
            return
        self._delayed += 1
        try:
            await asyncio.sleep(REFUSAL_DELAY_S)
        finally:
            self._delayed -= 1


def _is_sign_in(scope: Scope) -> bool:
    """Whether it is a form of a visitor that is checked against something secret."""
    if scope["type"] != "http" or scope["method"] != "POST":
        return False
    path: str = scope["path"]
    return path in PATHS or path.startswith(LINKS)


async def _read_body(receive: Receive) -> bytes | None:
    """The form, read before its turn so that nobody holds the queue up; None if it is refused."""
    body = b""
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            while True:
                message = await receive()
                body += bytes(message.get("body", b""))
                if message["type"] == "http.disconnect" or len(body) > MAX_BODY_BYTES:
                    return None
                if not message.get("more_body"):
                    return body
    except TimeoutError:
        return None


def _replay(body: bytes, receive: Receive) -> Receive:
    """What Django reads: the form, then what follows it."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again


def _find_refusal(
    request: HttpRequest, body: bytes | None, browser: KnownBrowser | None, queue: Queue
) -> Refusal | None:
    if body is None:
        return _TOO_LARGE
    visitor = browser.id if browser else rate_limits.address_key(http.client_address(request))
    result = rate_limits.count_in_process(VISITOR_RATE, f"sign-ins:{visitor}")
    if not result.is_allowed:
        return Refusal(429, "Too many sign-ins from here. Send it again later.", result.wait_s)
    return _FULL if queue.is_full else None


def _refuse(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    """The response, with the headers and the log line of every other."""

    def respond(request: HttpRequest) -> HttpResponse:
        response = _problem(refusal)
        if "text/html" in request.headers.get("Accept", ""):
            language = translation.get_language_from_request(request)
            response = HttpResponse(_page(language, refusal.status), status=refusal.status)
        response.headers["Retry-After"] = str(refusal.wait_s)
        response.headers["Cache-Control"] = "no-store"
        return response

    logged = RequestLog(cast(Next, XFrameOptionsMiddleware(respond)))
    # It redirects to https, which fails for a host that is not ours.
    secure = cast(Next, convert_exception_to_response(SecurityMiddleware(logged)))
    return cast(HttpResponse, SecurityHeaders(secure)(request))


def _problem(refusal: Refusal) -> HttpResponse:
    return error_response(ApiError(refusal.status, refusal.text))


@lru_cache(maxsize=16)
def _page(language: str, status: int) -> str:
    with translation.override(language):
        return render_to_string("accounts/busy.html", {"status": status})


async def _send_response(response: HttpResponse, send: Send) -> None:
    headers = [(name.encode(), value.encode("latin-1")) for name, value in response.items()]
    headers.append((b"Content-Length", str(len(response.content)).encode()))
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": response.content})
