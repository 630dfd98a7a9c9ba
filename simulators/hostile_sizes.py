"""Hostile answers that are well formed and as large as a probe reads them.

Each is built to cost its reader as much as possible per byte: objects, events, calls, reads.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from probes.reply_limits import MAX_TEXT
from probes.target import Limits

Answer = Callable[[Request], Awaitable[Response]]

# Just below the limits, so that the whole answer is read.
WHOLE_BYTES = Limits().max_bytes - 4096
STREAM_BYTES = Limits().max_stream_bytes - 4096
SMALL_READ = 64
_CALL = {"id": "c", "type": "function", "function": {"name": "probe_echo", "arguments": "{}"}}
_TEXT_CALL = '<tool_call>{"name": "probe_echo", "arguments": {"message": "m"}}</tool_call>\n'


async def many_calls(request: Request) -> Response:
    """As many calls as fit."""
    if await _is_streamed(request):
        deltas = ({"tool_calls": [{"index": n, **_CALL}]} for n in _numbers())
        return _stream(deltas)
    return _whole({"content": None, "tool_calls": _fill(_CALL)})


async def text_calls(request: Request) -> Response:
    """Thousands of calls, written as text."""
    count = (MAX_TEXT - 1) // len(_TEXT_CALL)
    if await _is_streamed(request):
        return _stream({"content": _TEXT_CALL} for _ in range(count))
    return _whole({"content": _TEXT_CALL * count})


async def many_values(request: Request) -> Response:
    """Lists and objects of a few bytes, each of which costs a hundred bytes when parsed."""
    if await _is_streamed(request):
        return _stream({"content": "a", "x": [[], {}] * 50_000} for _ in _numbers())
    return _whole({"content": "a", "x": _fill({"": 0})})


async def long_text(request: Request) -> Response:
    """One text; a character outside the Latin alphabet makes each of its characters four bytes."""
    text = "a word and " * (MAX_TEXT // 11 - 1) + "\U0001f600"
    if await _is_streamed(request):
        return _stream({"content": text[at : at + 1000]} for at in range(0, len(text), 1000))
    return _whole({"content": text})


async def long_arguments(request: Request) -> Response:
    """One call with very long arguments."""
    arguments = json.dumps({"message": "m" * (MAX_TEXT // 2), "x": list(range(1000))})
    call = {**_CALL, "function": {"name": "probe_echo", "arguments": arguments}}
    if await _is_streamed(request):
        return _stream([{"tool_calls": [{"index": 0, **call}]}])
    return _whole({"content": None, "tool_calls": [call]})


async def many_events(request: Request) -> Response:
    """A stream of the smallest events; whole, as many values."""
    if await _is_streamed(request):
        return _event_response(b"data:{}\n\n" * (STREAM_BYTES // 9))
    return await many_values(request)


async def small_reads(request: Request) -> Response:
    """A plain answer in pieces of a few bytes."""
    body = json.dumps(_reply({"content": "a word and " * 10_000})).encode()

    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(body), SMALL_READ):
            yield body[at : at + SMALL_READ]

    return StreamingResponse(pieces(), media_type="application/json")


async def large_error(request: Request) -> Response:
    """A server error with a body as large as a reply."""
    error = {"message": "overloaded", "details": _fill([])}
    return Response(json.dumps({"error": error}), 500, media_type="application/json")


async def many_headers(request: Request) -> Response:
    response = _whole({"content": "a"})
    response.raw_headers += [(b"x-%d" % n, b"h" * 40) for n in range(600)]
    return response


ANSWERS: dict[str, Answer] = {
    "many-calls": many_calls,
    "text-calls": text_calls,
    "many-values": many_values,
    "long-text": long_text,
    "long-arguments": long_arguments,
    "many-events": many_events,
    "small-reads": small_reads,
    "large-error": large_error,
    "many-headers": many_headers,
}


async def _is_streamed(request: Request) -> bool:
    return bool(json.loads(await request.body()).get("stream"))


def _numbers() -> Iterator[int]:
    yield from range(STREAM_BYTES)


def _fill(item: Any) -> list[Any]:
    """As many of these as fit into a whole answer."""
    return [item] * ((WHOLE_BYTES - 1024) // (len(json.dumps(item)) + 2))


def _reply(message: dict[str, Any]) -> dict[str, Any]:
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": "m", "choices": [choice]}


def _whole(message: dict[str, Any]) -> Response:
    return Response(json.dumps(_reply(message)), media_type="application/json")


def _stream(deltas: Any) -> Response:
    """Events of these deltas until the answer is full."""
    events: list[bytes] = []
    room = STREAM_BYTES
    for delta in deltas:
        chunk = {"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta}]}
        event = b"data: " + json.dumps(chunk).encode() + b"\n\n"
        room -= len(event)
        if room < 0:
            break
        events.append(event)
    end = {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    events.append(b"data: " + json.dumps(end).encode() + b"\n\ndata: [DONE]\n\n")
    return _event_response(b"".join(events))


def _event_response(body: bytes) -> Response:
    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(body), 4096):
            yield body[at : at + 4096]

    return StreamingResponse(pieces(), media_type="text/event-stream")
