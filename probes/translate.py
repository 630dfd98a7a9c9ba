"""One format to another, always through the values, with every loss named."""

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
    """A client's request as the endpoint's format has it. Raises WireError on a broken body."""
    call = source.read_request(body)
    return Translation(target.write_request(call), tuple(target.losses(call)))


def translate_reply(body: JSON, source: Adapter, target: Adapter) -> Translation:
    """An endpoint's reply as the client's format has it. Raises WireError on a broken body."""
    reply = source.read_reply(body)
    return Translation(target.write_reply(reply), tuple(target.losses(reply)))


def translate_stream(data: Iterable[bytes], source: Adapter, target: Adapter) -> Iterator[bytes]:
    """An endpoint's stream as the client's format has it, piece by piece as it arrives."""
    reader, writer = source.read_stream(), target.write_stream()
    for piece in data:
        for event in reader.feed(piece):
            yield writer.write(event)
    for event in reader.close():
        yield writer.write(event)
