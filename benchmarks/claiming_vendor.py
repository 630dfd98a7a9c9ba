"""A vendor that answers every chat request at once with the same call."""

from __future__ import annotations

import asyncio
import json
import sys

from typing_extensions import override

_CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "probe_echo", "arguments": '{"message": "hello", "tag": "alpha"}'},
}
_REPLY = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "instant",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": None, "tool_calls": [_CALL]},
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
}
_MODELS = {"object": "list", "data": [{"id": "instant", "object": "model"}]}


def _http_response(body: object) -> bytes:
    data = json.dumps(body).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(data)}"
    return head.encode() + b"\r\n\r\n" + data


POST, GET = _http_response(_REPLY), _http_response(_MODELS)


class InstantVendor(asyncio.Protocol):
    """Reads requests by their length and answers each."""

    def __init__(self) -> None:
        self._pending = b""
        self._transport: asyncio.Transport | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    @override
    def data_received(self, data: bytes) -> None:
        self._pending += data
        while (length := _request_length(self._pending)) is not None:
            request, self._pending = self._pending[:length], self._pending[length:]
            assert self._transport is not None
            self._transport.write(POST if request.startswith(b"POST") else GET)


def _request_length(data: bytes) -> int | None:
    """The length of the first request, or None while it is incomplete."""
    head, end, _ = data.partition(b"\r\n\r\n")
    if not end:
        return None
    _, _, length = head.lower().partition(b"content-length:")
    total = len(head) + 4 + (int(length.split(b"\r\n")[0]) if length else 0)
    return total if len(data) >= total else None


async def main(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(InstantVendor, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
