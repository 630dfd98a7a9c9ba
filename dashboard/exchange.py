"""Stored evidence as texts that a page can show."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.inert import clip, visible


@dataclass(frozen=True, slots=True)
class Shown:
    """One exchange; every text is already inert."""

    label: str
    request_line: str
    request_body: str
    reply_line: str
    reply_headers: str
    reply_body: str
    calls: tuple[str, ...]
    error: str


def shown(evidence: Mapping[str, Any]) -> list[Shown]:
    """The texts of every exchange behind an attempt, as `probes.evidence` stores them."""
    return [_shown(exchange) for exchange in evidence.get("exchanges") or []]


def _shown(exchange: Mapping[str, Any]) -> Shown:
    request = exchange.get("request") or {}
    reply = exchange.get("reply") or {}
    return Shown(
        label=_inert(exchange.get("label") or ""),
        request_line=_inert(f"{request.get('method', '')} {request.get('url', '')}".strip()),
        request_body=_inert(_pretty(request.get("body") or "")),
        reply_line=_inert(_reply_line(reply)),
        reply_headers=_inert(_headers(reply.get("headers") or {})),
        reply_body=_inert(_joined(reply.get("chunks") or [])),
        calls=tuple(_inert(_dump(call)) for call in exchange.get("calls") or []),
        error=_inert(exchange.get("error") or ""),
    )


def _inert(text: str) -> str:
    return visible(clip(text))


def _joined(chunks: Sequence[Mapping[str, Any]]) -> str:
    # A character may be cut by a chunk's edge, so bytes are joined before they are read.
    data = b"".join(_bytes(chunk) for chunk in chunks)
    return data.decode("utf-8", "backslashreplace")


def _bytes(chunk: Mapping[str, Any]) -> bytes:
    if "base64" in chunk:
        return base64.b64decode(chunk["base64"])
    return str(chunk.get("text", "")).encode("utf-8", "surrogatepass")


def _pretty(text: str) -> str:
    try:
        return _dump(json.loads(text))
    except ValueError:
        return text


def _dump(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _headers(headers: Mapping[str, Any]) -> str:
    return "\n".join(f"{name}: {value}" for name, value in headers.items())


def _reply_line(reply: Mapping[str, Any]) -> str:
    if not reply:
        return ""
    parts = [f"HTTP status {reply.get('status')}", f"{reply.get('bytes', 0):,} bytes"]
    if reply.get("first_byte_ms") is not None:
        parts.append(f"first byte after {reply['first_byte_ms']} ms")
    if reply.get("total_ms") is not None:
        parts.append(f"{reply['total_ms']} ms in all")
    return ", ".join(parts + (["cut off here"] if reply.get("truncated") else []))
