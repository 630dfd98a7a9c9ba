"""Translates one wire format to another through the common values, and reports every loss."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from probes.adapters.base import Adapter
from probes.events import NO_HEAD, ReplyHead
from probes.losses import Loss
from probes.messages import JSON
from probes.tool_name_map import ToolNameMap, fit_tool_names

NO_NAMES = ToolNameMap()


@dataclass(frozen=True, slots=True)
class Translation:
    """A body in the target's format, what the target could not carry, and a request's tool names.

    `names` restores the client's tools in the reply to a request.
    """

    body: Mapping[str, JSON]
    losses: tuple[Loss, ...]
    names: ToolNameMap = NO_NAMES


def translate_request(body: JSON, source: Adapter, target: Adapter) -> Translation:
    """Translate a client's request to the endpoint's format; WireError on an invalid body."""
    call, names = fit_tool_names(source.read_request(body), target.format)
    return Translation(target.write_request(call), tuple(target.losses(call)), names)


def translate_reply(
    body: JSON,
    source: Adapter,
    target: Adapter,
    head: ReplyHead = NO_HEAD,
    *,
    names: ToolNameMap = NO_NAMES,
) -> Translation:
    """Translate an endpoint's reply to the client's format; WireError on an invalid body."""
    reply = names.restore_reply(source.read_reply(body))
    return Translation(target.write_reply(reply, head), tuple(target.losses(reply)))


def translate_stream(
    data: Iterable[bytes],
    source: Adapter,
    target: Adapter,
    head: ReplyHead = NO_HEAD,
    *,
    names: ToolNameMap = NO_NAMES,
) -> Iterator[bytes]:
    """Translate an endpoint's stream to the client's format, piece by piece as it arrives."""
    reader, writer = source.read_stream(), target.write_stream(head)
    for piece in data:
        for event in reader.feed(piece):
            yield writer.write(names.restore_event(event))
    for event in reader.close():
        yield writer.write(names.restore_event(event))
