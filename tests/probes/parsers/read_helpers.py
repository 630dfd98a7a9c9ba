"""How parser tests read: one text, every way of cutting it, results that print small."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from probes.messages import ToolSpec
from probes.parsers.base import JsonText, RawCall
from probes.parsers.markup import MarkupReason
from probes.parsers.reader import TextReader, read_text
from probes.parsers.text_items import ReasoningText, TextItem, VisibleText, merge_items
from tests.extent import EXTENT

TOOLS = tuple(ToolSpec(name, "", None) for name in ("f", "g", "get_weather", "write_file"))


def fed(pieces: Sequence[str], tools: Sequence[ToolSpec] = TOOLS, **options: Any) -> list[TextItem]:
    reader = TextReader(tools, **options)
    return merge_items(
        [*(found for piece in pieces for found in reader.feed(piece)), *reader.close()]
    )


def read_every_way(text: str, tools: Sequence[ToolSpec] = TOOLS, **options: Any) -> list[TextItem]:
    """What the text says, after checking that no way of cutting it says anything else."""
    whole = read_text(text, tools, **options)
    assert fed(list(text), tools, **options) == whole
    for cut in range(1, len(text), max(1, len(text) // EXTENT.cuts)):
        assert fed([text[:cut], text[cut:]], tools, **options) == whole, (text[:cut], text[cut:])
    return whole


def withheld(text: str, **options: Any) -> list[tuple[str, MarkupReason]]:
    """Formats and reasons of the calls that were read and do not run."""
    reader = TextReader(TOOLS, **options)
    reader.feed(text)
    reader.close()
    return [(markup.format, markup.reason) for markup in reader.withheld]


def calls(found: Sequence[TextItem]) -> list[tuple[str, Any]]:
    """Names and arguments of the calls."""
    return [(item.name, arguments(item)) for item in found if isinstance(item, RawCall)]


def raw_calls(found: Sequence[TextItem]) -> list[RawCall]:
    return [item for item in found if isinstance(item, RawCall)]


def arguments(call: RawCall) -> Any:
    if isinstance(call.arguments, JsonText):
        return json.loads(call.arguments.text or "{}")
    return {item.key: item.value for item in call.arguments.items}


def text_of(found: Sequence[TextItem]) -> str:
    return "".join(item.text for item in found if isinstance(item, VisibleText))


def reasoning_of(found: Sequence[TextItem]) -> str:
    return "".join(item.text for item in found if isinstance(item, ReasoningText))
