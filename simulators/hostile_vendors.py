from __future__ import annotations

import asyncio
import base64
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cache
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from simulators import hostile_sizes

MEGABYTE = 1024 * 1024
Answer = Callable[[Request], Awaitable[Response]]


class RedirectTarget:
    """The target of the redirect; counts the requests that follow it."""

    def __init__(self) -> None:
        self.calls = 0

    async def arrive(self, request: Request) -> Response:
        self.calls += 1
        return JSONResponse({"authorization": request.headers.get("authorization")})

    async def count(self, request: Request) -> Response:
        return JSONResponse({"calls": self.calls})


def routes() -> list[Route]:
    """Every hostile endpoint as `/<name>/v1/chat/completions`."""
    landing = RedirectTarget()
    return [
        Route("/landing/calls", landing.count),
        Route("/landing/v1/chat/completions", landing.arrive, methods=["GET", "POST"]),
        *(
            Route(f"/{name}/v1/chat/completions", answer, methods=["POST"])
            for name, answer in ANSWERS.items()
        ),
    ]


class _CutOff(Response):
    """Announces a thousand bytes, sends some of them and closes the connection."""

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"application/json"), (b"content-length", b"1000")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b'{"choices": [', "more_body": True})


async def html(request: Request) -> Response:
    return HTMLResponse("<!doctype html><title>Sign in</title><h1>Please sign in</h1>")


async def unauthorized(request: Request) -> Response:
    return _error(401, "Incorrect API key provided.")


async def forbidden(request: Request) -> Response:
    return _error(403, "Your country, region, or territory is not supported.")


async def not_found(request: Request) -> Response:
    return _error(404, "Invalid URL (POST /v1/chat/completions)")


async def rate_limited(request: Request) -> Response:
    return _error(429, "Rate limit reached for requests.", {"retry-after": "1"})


async def server_error(request: Request) -> Response:
    return _error(500, "The server had an error while processing your request.")


async def overloaded(request: Request) -> Response:
    return _error(503, "The engine is currently overloaded, please try again later.")


async def no_tools(request: Request) -> Response:
    return _error(400, "sim does not support tools")


async def hang(request: Request) -> Response:
    await _wait_for_disconnect(request)
    return Response()


async def drip(request: Request) -> Response:
    async def stream_body() -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await asyncio.sleep(1)

    return StreamingResponse(stream_body(), media_type="application/json")


async def endless(request: Request) -> Response:
    async def stream_body() -> AsyncIterator[bytes]:
        yield b'{"padding": "'
        while True:
            yield b"x" * 65536
            await asyncio.sleep(0)

    return StreamingResponse(stream_body(), media_type="application/json")


async def huge(request: Request) -> Response:
    async def stream_body() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b"x" * MEGABYTE

    headers = {"content-length": str(100 * MEGABYTE)}
    return StreamingResponse(stream_body(), media_type="application/json", headers=headers)


async def deep(request: Request) -> Response:
    return Response(b"[" * (10 * MEGABYTE), media_type="application/json")


async def nested(request: Request) -> Response:
    return Response(b"[" * 1000 + b"]" * 1000, media_type="application/json")


async def redirect(request: Request) -> Response:
    return Response(status_code=307, headers={"location": "/hostile/landing/v1/chat/completions"})


async def gzip_bomb(request: Request) -> Response:
    headers = {"content-encoding": "gzip"}
    return Response(_bomb(), media_type="application/json", headers=headers)


async def garbage(request: Request) -> Response:
    return Response(bytes(range(128, 256)) * 8, media_type="application/json")


async def wrong_type(request: Request) -> Response:
    return JSONResponse({"choices": "none", "usage": [], "model": 5})


async def empty(request: Request) -> Response:
    return Response(b"", media_type="application/json")


async def cut(request: Request) -> Response:
    # With unread bytes left the kernel would reset the connection and drop what we sent.
    await request.body()
    return _CutOff()


async def echo_auth(request: Request) -> Response:
    """A valid reply that echoes our credential in every encoding, split inside the key."""
    echo = _credential_spellings(request)
    body = json.dumps(_reply({"content": echo})).encode()
    middle = body.index(b"Bearer ") + 12

    async def stream_body() -> AsyncIterator[bytes]:
        yield body[:middle]
        await asyncio.sleep(0.02)
        yield body[middle:]

    headers = {"x-request-id": _authorization(request), "server": _authorization(request)}
    return StreamingResponse(stream_body(), media_type="application/json", headers=headers)


async def echo_refused(request: Request) -> Response:
    message = f"Unknown parameter: 'tools' in {_credential_spellings(request)}"
    return _error(400, message, {"x-request-id": _authorization(request)})


async def echo_redirect(request: Request) -> Response:
    location = f"/hostile/landing/v1/chat/completions?key={quote(_authorization(request), safe='')}"
    return Response(status_code=302, headers={"location": location})


async def echo_call(request: Request) -> Response:
    """A call whose arguments are our credential."""
    call = await _tool_call(
        request, {"message": _authorization(request), "tag": _credential_spellings(request)}
    )
    return JSONResponse(_reply({"content": None, "tool_calls": [call]}, "tool_calls"))


async def hostile_markup(request: Request) -> Response:
    """A valid call full of script, terminal escapes, direction marks, NUL and lone surrogates."""
    payload = "<script>alert(1)</script>\x1b[2J\u202egnp.exe\x00\ud800 =1+1 {{7*7}}"
    call = await _tool_call(request, {"message": payload, "tag": "alpha"})
    body = _reply({"content": payload, "tool_calls": [call]}, "tool_calls")
    body["model"] = body["system_fingerprint"] = payload
    return Response(json.dumps(body), media_type="application/json")


ANSWERS: dict[str, Answer] = {
    "html": html,
    "unauthorized": unauthorized,
    "forbidden": forbidden,
    "not-found": not_found,
    "rate-limited": rate_limited,
    "server-error": server_error,
    "overloaded": overloaded,
    "no-tools": no_tools,
    "hang": hang,
    "drip": drip,
    "endless": endless,
    "huge": huge,
    "deep": deep,
    "nested": nested,
    "redirect": redirect,
    "gzip-bomb": gzip_bomb,
    "garbage": garbage,
    "wrong-type": wrong_type,
    "empty": empty,
    "cut": cut,
    "echo-auth": echo_auth,
    "echo-refused": echo_refused,
    "echo-redirect": echo_redirect,
    "echo-call": echo_call,
    "hostile-markup": hostile_markup,
    **hostile_sizes.ANSWERS,
}


def _error(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return JSONResponse({"error": error}, status, headers)


def _reply(message: dict[str, Any], finish: str = "stop") -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": "m", "choices": [choice]}


async def _tool_call(request: Request, arguments: dict[str, str]) -> dict[str, Any]:
    body = json.loads(await request.body())
    name = body["tools"][0]["function"]["name"]
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": "call_1", "type": "function", "function": function}


def _authorization(request: Request) -> str:
    return request.headers.get("authorization", "")


def _credential_spellings(request: Request) -> str:
    header = _authorization(request)
    key = header.removeprefix("Bearer ")
    encoded = [base64.b64encode(text.encode()).decode() for text in (header, key, f"user:{key}")]
    return " ".join([header, json.dumps(key), quote(key, safe=""), *encoded])


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


@cache
def _bomb() -> bytes:
    # Gzip members can be concatenated: 200 KB on the wire, 200 MB unpacked.
    return gzip.compress(b"\0" * MEGABYTE) * 200
