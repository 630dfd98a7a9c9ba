from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class WireRequest:
    """One HTTP request, complete, before it is sent."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes as one network read gave them, and when: milliseconds since the request began."""

    ms: int
    data: bytes


@dataclass(frozen=True, slots=True)
class WireResponse:
    """What came back, whole or as far as it got. Header names are lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    chunks: tuple[Chunk, ...] = ()
    total_ms: int = 0
    first_byte_ms: int | None = None
    http_version: str = ""

    @property
    def body(self) -> bytes:
        """All chunks joined."""
        return b"".join(chunk.data for chunk in self.chunks)
