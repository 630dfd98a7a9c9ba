"""Bounds what is kept of one reply: a worker holds many of them, and parsing one takes time.

Bytes and times are bounded while they are read (`probes.transport`); here it is what they turn
into. A list of two bytes takes sixty in memory, and a text of a megabyte takes seconds to judge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from probes.errors import TooLarge, WireError
from probes.http_messages import WireResponse
from probes.messages import JSON, BrokenCall, Opaque, Part, Reasoning, Reply, Text, ToolCall

# A probe asks for 4,096 tokens. These are sixteen times and more of what they can be.
MAX_LINES = 100_000
MAX_TEXT = 256 * 1024
MAX_VALUES = 50_000
MAX_CALLS = 1_000


def check_stream_lines(incoming: WireResponse) -> None:
    """Raise TooLarge if a stream has so many lines that reading its events takes too long."""
    if max(_count(incoming, b"\n"), _count(incoming, b"\r")) > MAX_LINES:
        raise TooLarge(f"The stream has more than {MAX_LINES} lines.", received=incoming)


def check_reply_size(reply: Reply, incoming: WireResponse) -> None:
    """Raise TooLarge if the reply has more text, calls or JSON values than a probe needs.

    Raises WireError if a reader has left out calls: what is left would get a verdict of its own.
    """
    for deviation in reply.deviations:
        if deviation.name == "too_many_calls":
            raise WireError("The answer has more calls than are read.", deviation.path)
    if sum(map(_characters, reply.parts)) > MAX_TEXT:
        message = f"The answer has more than {MAX_TEXT} characters of text."
    elif len(reply.calls) + len(reply.broken) > MAX_CALLS:
        message = f"The answer has more than {MAX_CALLS} calls."
    elif _has_more_values(_json_of(reply), MAX_VALUES):
        message = f"The answer has more than {MAX_VALUES} JSON values."
    else:
        return
    raise TooLarge(message, received=incoming)


def _count(incoming: WireResponse, byte: bytes) -> int:
    return sum(chunk.data.count(byte) for chunk in incoming.chunks)


def _characters(part: Part) -> int:
    match part:
        case Text() | Reasoning():
            return len(part.text)
        case ToolCall() | BrokenCall():
            return len(part.raw) + len(part.name) + len(part.id)
        case _:
            return 0


def _json_of(reply: Reply) -> Iterator[JSON]:
    yield reply.raw
    yield reply.extra
    for part in reply.parts:
        match part:
            case ToolCall():
                yield from (part.input, part.extra)
            case Text():
                yield part.extra
            case Reasoning() | Opaque():
                yield part.raw
            case _:
                pass


def _has_more_values(values: Iterable[JSON], limit: int) -> bool:
    """Whether there are more values than so many, nested ones included; stops counting there."""
    pending = list(values)
    seen = 0
    while pending and seen <= limit:
        value = pending.pop()
        seen += 1
        if isinstance(value, Mapping):
            pending.extend(value.values())
        elif isinstance(value, list | tuple):
            pending.extend(value)
    return seen > limit
