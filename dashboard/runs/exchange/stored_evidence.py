"""Stored evidence as values: requests, replies and their chunks with times."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from probes.http_messages import Chunk


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """A request without its key; a long body is truncated."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: str
    truncated: bool = False


@dataclass(frozen=True)
class StoredReply:
    """A reply; a long body is truncated."""

    status: int | None
    headers: Mapping[str, str] = field(default_factory=dict)
    chunks: tuple[Chunk, ...] = ()
    size: int = 0  # bytes received, which may be more than were stored
    first_byte_ms: int | None = None
    total_ms: int | None = None
    http_version: str = ""
    truncated: bool = False

    @cached_property
    def body(self) -> bytes:
        # A chunk may end inside a character, so chunks are joined before they are decoded.
        return b"".join(chunk.data for chunk in self.chunks)

    @cached_property
    def text(self) -> str:
        return self.body.decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request of an attempt and its reply or error; numbers count from 1."""

    number: int
    label: str
    request: StoredRequest | None
    reply: StoredReply | None
    calls: tuple[Mapping[str, Any], ...]
    error: str
    retried: tuple[int, ...] = ()  # the statuses of earlier answers to the same request
    reconnects: int = 0  # how often it was sent again on a new connection


def read_exchanges(evidence: Mapping[str, Any]) -> list[Exchange]:
    """Parse evidence in the format that `probes.exchange_evidence` writes."""
    return [
        _read_exchange(number, stored)
        for number, stored in enumerate(evidence.get("exchanges", ()), 1)
    ]


def _read_exchange(number: int, stored: Mapping[str, Any]) -> Exchange:
    request, reply = stored.get("request"), stored.get("reply")
    return Exchange(
        number=number,
        label=str(stored.get("label") or ""),
        request=_read_request(request) if request else None,
        reply=_read_reply(reply) if reply else None,
        calls=tuple(call for call in stored.get("calls") or () if isinstance(call, Mapping)),
        error=str(stored.get("error") or ""),
        retried=tuple(int(each.get("status") or 0) for each in stored.get("retried") or ()),
        reconnects=int(stored.get("reconnects") or 0),
    )


def _read_request(request: Mapping[str, Any]) -> StoredRequest:
    return StoredRequest(
        method=str(request.get("method") or ""),
        url=str(request.get("url") or ""),
        headers=_read_headers(request),
        body=str(request.get("body") or ""),
        truncated=bool(request.get("truncated")),
    )


def _read_reply(reply: Mapping[str, Any]) -> StoredReply:
    return StoredReply(
        status=reply.get("status"),
        headers=_read_headers(reply),
        chunks=tuple(_read_chunk(chunk) for chunk in reply.get("chunks") or ()),
        size=int(reply.get("bytes") or 0),
        first_byte_ms=reply.get("first_byte_ms"),
        total_ms=reply.get("total_ms"),
        http_version=str(reply.get("http_version") or ""),
        truncated=bool(reply.get("truncated")),
    )


def _read_headers(message: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in (message.get("headers") or {}).items()}


def _read_chunk(stored: Mapping[str, Any]) -> Chunk:
    ms = int(stored.get("ms") or 0)
    if "base64" not in stored:
        return Chunk(ms, str(stored.get("text", "")).encode("utf-8", "surrogatepass"))
    try:
        return Chunk(ms, base64.b64decode(stored["base64"]))
    except (binascii.Error, ValueError):
        return Chunk(ms, str(stored["base64"]).encode("utf-8", "surrogatepass"))
