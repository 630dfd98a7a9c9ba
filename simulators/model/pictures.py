"""What the simulated model sees in the pictures of a tool result."""

from __future__ import annotations

import base64
import binascii
import re
import struct
import zlib
from collections.abc import Iterator, Mapping

from probes.messages import JSON, ToolResult

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
    seen = (_describe(data) for data in find_pictures([result.blocks, result.extra]))
    return " ".join(text for text in seen if text)


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
