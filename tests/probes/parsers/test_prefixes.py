"""Every beginning of a call: nothing that is not whole is handed out as whole."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from probes.parsers.base import JsonText
from probes.parsers.reader import RawCall, read_text
from tests.probes.parsers.read_helpers import TOOLS, fed, raw_calls
from tests.probes.parsers.writers import FORMATS, Call, Format

CALLS: Sequence[Call] = (
    ("f", {"a": "one, two", "b": "x) ] }"}),
    ("get_weather", {"city": "it's", "days": "12"}),
)
NAMES = (
    "gemma4",
    "functiongemma",
    "llama4",
    "pythonic",
    "pythonic_eot",
    "lfm2",
    "lfm2_json",
    "olmo3",
    "tool_code",
    "tool_code_print",
)
every_format = pytest.mark.parametrize("name", NAMES)
counts = pytest.mark.parametrize("count", [1, 2], ids=["one_call", "two_calls"])


def arguments_of(call: RawCall) -> Any:
    """The arguments as they would be executed."""
    if isinstance(call.arguments, JsonText):
        return json.loads(call.arguments.text)
    return {item.key: item.value for item in call.arguments.items}


def executable_calls(format: Format, text: str, *, truncated: bool) -> list[tuple[str, Any]]:
    found = raw_calls(read_text(text, TOOLS, format=format.name, truncated=truncated))
    return [(call.name, arguments_of(call)) for call in found if not call.open_value]


@every_format
@counts
@pytest.mark.parametrize("truncated", [False, True], ids=["stopped", "truncated"])
def test_every_prefix_of_a_call_is_safe(name: str, count: int, truncated: bool) -> None:
    """Cut at any character, the calls that can be executed are the first of those written."""
    written = list(CALLS[:count])
    text = FORMATS[name].write(written)

    for end in range(len(text) + 1):
        found = executable_calls(FORMATS[name], text[:end], truncated=truncated)
        assert found == written[: len(found)], text[:end]
    assert executable_calls(FORMATS[name], text, truncated=truncated) == written


@every_format
@counts
def test_every_prefix_reads_the_same_in_pieces(name: str, count: int) -> None:
    """A text that ends anywhere says the same one character at a time."""
    text = "So.\n" + FORMATS[name].write(CALLS[:count])

    for end in range(len(text) + 1):
        assert fed(list(text[:end])) == read_text(text[:end], TOOLS), text[:end]
