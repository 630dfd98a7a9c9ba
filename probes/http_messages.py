from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class WireRequest:
    """One complete HTTP request before it is sent."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""
    may_be_long: bool = False  # the answer is a stream, or a file of the engine


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
    dropped_bytes: int = 0  # that arrived after the chunks and were not kept
    # The request was sent again: the server had closed the idle connection that it was sent on.
    reconnected: bool = False

    @property
    def body(self) -> bytes:
        """All chunks joined."""
        return b"".join(chunk.data for chunk in self.chunks)

    @property
    def size(self) -> int:
        """The bytes of the body that arrived, whether they were kept or not."""
        return sum(len(chunk.data) for chunk in self.chunks) + self.dropped_bytes

    def head(self) -> WireResponse:
        """The response without its body."""
        return replace(self, chunks=(), dropped_bytes=self.size)
