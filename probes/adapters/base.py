"""The protocol of a wire format. Pure functions of data: an adapter never sends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from probes.events import NO_HEAD, Event, ReplyHead
from probes.losses import Loss
from probes.messages import JSON, ModelCall, Reply, ReplyError
from probes.secret import Secret


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """The content of an error answer, without the vendor's envelope."""

    message: str
    code: str = ""


class StreamReader(Protocol):
    """Bytes of one streamed answer to events. Accepts any cut; never raises on received data."""

    def feed(self, data: bytes) -> list[Event]: ...

    def close(self) -> list[Event]:
        """End the answer, complete or not; the last event is a ReplyEnded."""
        ...


class StreamWriter(Protocol):
    """Events to the bytes that a client of this format expects."""

    def write(self, event: Event) -> bytes: ...

    def heartbeat(self) -> bytes:
        """A sign of life that resets a client's patience; it may also open the stream."""
        ...


class Adapter(Protocol):
    """One wire format, both directions, whole and streamed."""

    @property
    def format(self) -> str: ...

    @property
    def path(self) -> str:
        """The path after the base URL; `{model}` is replaced by the model."""
        ...

    @property
    def stream_path(self) -> str:
        """The same for a streamed answer; most formats use one path for both."""
        ...

    def headers(self, key: Secret | None) -> dict[str, str]: ...

    # As a client, towards an endpoint.
    def write_request(self, call: ModelCall) -> dict[str, JSON]: ...

    def read_reply(self, body: JSON, seed: str = "") -> Reply:
        """The reply in a body. Ids that it lacks are minted from the seed, one seed per reply."""
        ...

    def read_stream(self, seed: str = "") -> StreamReader: ...

    def read_error(self, body: JSON) -> ErrorBody | None:
        """The error in a body, or None. Never raises."""
        ...

    # As a server, towards a client.
    def read_request(self, body: JSON) -> ModelCall: ...

    def write_reply(self, reply: Reply, head: ReplyHead = NO_HEAD) -> dict[str, JSON]: ...

    def write_stream(self, head: ReplyHead = NO_HEAD) -> StreamWriter: ...

    def write_error(self, status: int, message: str) -> dict[str, JSON]: ...

    def write_failure(self, error: ReplyError) -> dict[str, JSON]:
        """The body of an error, in the words that make a client of this format act on its kind."""
        ...

    # What this format cannot carry.
    def losses(self, value: ModelCall | Reply) -> list[Loss]: ...


def bearer_header(key: Secret | None) -> dict[str, str]:
    """The header in which most formats carry the key."""
    return {"Authorization": f"Bearer {key.reveal()}"} if key else {}


def write_event_stream(
    adapter: Adapter, events: Iterable[Event], head: ReplyHead = NO_HEAD
) -> Iterator[bytes]:
    """Write a sequence of events as one format's stream."""
    writer = adapter.write_stream(head)
    for event in events:
        if data := writer.write(event):
            yield data
