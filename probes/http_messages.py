from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class WireRequest:
    """One complete HTTP request before it is sent."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes of one network read, and its time in milliseconds since the request began."""

    ms: int
    data: bytes


@dataclass(frozen=True, slots=True)
class WireResponse:
    """A response, complete or as far as it arrived. Header names are lower case."""

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
