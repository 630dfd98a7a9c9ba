from __future__ import annotations

import json

import httpx

from probes.adapters.base import write_event_stream
from probes.adapters.openai_chat.adapter import OpenAIChatAdapter
from probes.streams.assembler import reply_events

CHAT = OpenAIChatAdapter()


def answer(status: int, body: object = b"", **headers: str) -> httpx.Response:
    """A response that is not read yet, as from the network."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, headers=named, stream=httpx.ByteStream(data))


def answer_chat(request: httpx.Request, body: dict[str, object], **headers: str) -> httpx.Response:
    """A chat completion, streamed if the request asks for that."""
    if not json.loads(request.content).get("stream"):
        return answer(200, body, **headers)
    events = reply_events(CHAT.read_reply(body))  # type: ignore[arg-type]
    data = b"".join(write_event_stream(CHAT, events))
    return answer(200, data, content_type="text/event-stream", **headers)
