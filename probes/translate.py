"""Translates one wire format to another through the common values, and reports every loss."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from probes.adapters.base import Adapter
from probes.losses import Loss
from probes.messages import JSON


@dataclass(frozen=True, slots=True)
class Translation:
    """A body in the target's format, and what the target could not carry."""

    body: Mapping[str, JSON]
    losses: tuple[Loss, ...]


def translate_request(body: JSON, source: Adapter, target: Adapter) -> Translation:
    """Translate a client's request to the endpoint's format; WireError on an invalid body."""
    call = source.read_request(body)
    return Translation(target.write_request(call), tuple(target.losses(call)))


def translate_reply(body: JSON, source: Adapter, target: Adapter) -> Translation:
    """Translate an endpoint's reply to the client's format; WireError on an invalid body."""
    reply = source.read_reply(body)
    return Translation(target.write_reply(reply), tuple(target.losses(reply)))


def translate_stream(data: Iterable[bytes], source: Adapter, target: Adapter) -> Iterator[bytes]:
    """Translate an endpoint's stream to the client's format, piece by piece as it arrives."""
    reader, writer = source.read_stream(), target.write_stream()
    for piece in data:
        for event in reader.feed(piece):
            yield writer.write(event)
    for event in reader.close():
        yield writer.write(event)
