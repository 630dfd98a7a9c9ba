"""Stored evidence as values: what was sent, what came back and when."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from probes.http_messages import Chunk


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it was stored: without the key, and cut where it was too long."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: str
    truncated: bool = False


@dataclass(frozen=True)
class Got:
    """What came back, as far as it was stored."""

    status: int | None
    headers: Mapping[str, str] = field(default_factory=dict)
    chunks: tuple[Chunk, ...] = ()
    size: int = 0  # of what arrived, which may be more than what was stored
    first_byte_ms: int | None = None
    total_ms: int | None = None
    http_version: str = ""
    truncated: bool = False

    @cached_property
    def body(self) -> bytes:
        # A character may be cut by a chunk's edge, so bytes are joined before they are read.
        return b"".join(chunk.data for chunk in self.chunks)

    @cached_property
    def text(self) -> str:
        return self.body.decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request of an attempt and whatever came of it; numbers count from 1."""

    number: int
    label: str
    sent: Sent | None
    got: Got | None
    calls: tuple[Mapping[str, Any], ...]
    error: str


def exchanges(evidence: Mapping[str, Any]) -> list[Exchange]:
    """Every exchange, as `probes.exchange_evidence` stores them."""
    return [_exchange(number, told) for number, told in enumerate(evidence.get("exchanges", ()), 1)]


def _exchange(number: int, told: Mapping[str, Any]) -> Exchange:
    request, reply = told.get("request"), told.get("reply")
    return Exchange(
        number=number,
        label=str(told.get("label") or ""),
        sent=_sent(request) if request else None,
        got=_got(reply) if reply else None,
        calls=tuple(call for call in told.get("calls") or () if isinstance(call, Mapping)),
        error=str(told.get("error") or ""),
    )


def _sent(request: Mapping[str, Any]) -> Sent:
    return Sent(
        method=str(request.get("method") or ""),
        url=str(request.get("url") or ""),
        headers=_headers(request),
        body=str(request.get("body") or ""),
        truncated=bool(request.get("truncated")),
    )


def _got(reply: Mapping[str, Any]) -> Got:
    return Got(
        status=reply.get("status"),
        headers=_headers(reply),
        chunks=tuple(_chunk(chunk) for chunk in reply.get("chunks") or ()),
        size=int(reply.get("bytes") or 0),
        first_byte_ms=reply.get("first_byte_ms"),
        total_ms=reply.get("total_ms"),
        http_version=str(reply.get("http_version") or ""),
        truncated=bool(reply.get("truncated")),
    )


def _headers(told: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in (told.get("headers") or {}).items()}


def _chunk(told: Mapping[str, Any]) -> Chunk:
    ms = int(told.get("ms") or 0)
    if "base64" not in told:
        return Chunk(ms, str(told.get("text", "")).encode("utf-8", "surrogatepass"))
    try:
        return Chunk(ms, base64.b64decode(told["base64"]))
    except (binascii.Error, ValueError):
        return Chunk(ms, str(told["base64"]).encode("utf-8", "surrogatepass"))
