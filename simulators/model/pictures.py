"""What the simulated model sees in the pictures of a request."""

from __future__ import annotations

import base64
import binascii
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from probes.messages import JSON, Image, Opaque, Part, Role, ToolResult, Turn

# The beginning of every PNG in base64.
PNG = "iVBORw0KGgo"
MAX_PIXELS = 1 << 20
_COLOURS = {
    "black": (0, 0, 0),
    "blue": (0, 0, 255),
    "green": (0, 128, 0),
    "red": (255, 0, 0),
    "white": (255, 255, 255),
    "yellow": (255, 255, 0),
}


def describe_pictures(result: ToolResult) -> str:
    """The colours of each picture, from left to right; empty if the result has no picture."""
    images: list[JSON] = [image.data for image in result.images]
    return _describe_all([result.blocks, result.extra, images])


def describe_user_pictures(turns: Iterable[Turn]) -> str:
    """The colours of the pictures that user messages carry beside their text."""
    shown = [turn for turn in turns if turn.role is Role.USER]
    parts = [part for turn in shown for part in turn.parts]
    opaque = [part.raw for part in parts if isinstance(part, Opaque)]
    images: list[JSON] = [part.data for part in parts if isinstance(part, Image)]
    return _describe_all([opaque, images, [turn.extra for turn in shown]])


def without_result_pictures(turn: Turn) -> Turn:
    """The turn with empty results in place of pictures."""
    return replace(turn, parts=tuple(map(_without_pictures, turn.parts)))


def without_pictures(turn: Turn) -> Turn:
    """The turn without pictures in results or beside its text."""
    if turn.role is not Role.USER:
        return without_result_pictures(turn)
    parts = tuple(part for part in turn.parts if not isinstance(part, Opaque | Image))
    return replace(turn, parts=parts, extra={})


def _without_pictures(part: Part) -> Part:
    if not isinstance(part, ToolResult) or not describe_pictures(part):
        return part
    return replace(part, blocks=(), parts=(), extra={})


def _describe_all(value: JSON) -> str:
    return " ".join(text for data in find_pictures(value) if (text := _describe(data)))


def find_pictures(value: JSON) -> Iterator[str]:
    """The base64 of every PNG inside of a JSON value, each once."""
    yield from dict.fromkeys(_find(value))


def _find(value: JSON) -> Iterator[str]:
    match value:
        case str():
            yield from re.findall(rf"{PNG}[A-Za-z0-9+/=]*", value)
        case Mapping():
            for item in value.values():
                yield from _find(item)
        case list() | tuple():
            for item in value:
                yield from _find(item)
        case _:
            pass


def _describe(data: str) -> str:
    try:
        width, row = _middle_row(base64.b64decode(data))
    except (binascii.Error, struct.error, zlib.error, ValueError):
        return ""
    colours = [_name(row[3 * x : 3 * x + 3]) for x in range(width)]
    return "A picture: " + ", ".join(dict.fromkeys(colours)) + "."


def _middle_row(png: bytes) -> tuple[int, bytes]:
    """The pixels of a plain RGB picture whose rows are not filtered."""
    width, height, depth, kind = struct.unpack(">IIBB", png[16:26])
    if (depth, kind) != (8, 2) or width * height > MAX_PIXELS:
        raise ValueError("not a plain RGB picture")
    start = png.index(b"IDAT")
    (length,) = struct.unpack(">I", png[start - 4 : start])
    rows = zlib.decompress(png[start + 4 : start + 4 + length])
    begin = (height // 2) * (3 * width + 1) + 1
    return width, rows[begin : begin + 3 * width]


def _name(pixel: bytes) -> str:
    def distance(name: str) -> int:
        return sum((a - b) ** 2 for a, b in zip(_COLOURS[name], pixel, strict=False))

    return min(_COLOURS, key=distance)
