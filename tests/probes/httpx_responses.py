from __future__ import annotations

import json

import httpx


def answer(status: int, body: object = b"", **headers: str) -> httpx.Response:
    """A response that is not read yet, as from the network."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, headers=named, stream=httpx.ByteStream(data))
