from __future__ import annotations

from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.json_calls import JsonCall, split_members
from probes.parsers.json_formats.marked_json import read_marked_json

NAME = "apertus"
OPEN = "<|tools_prefix|>"
CLOSERS = ("<|tools_suffix|>",)


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<|tools_prefix|>[{"f": {"a": 1}}]<|tools_suffix|>`: the name is the only key."""
    return (
        yield from read_marked_json(
            cursor, context, NAME, CLOSERS, openers=(OPEN,), read_call=_read_named_arguments
        )
    )


def _read_named_arguments(text: str) -> JsonCall | None:
    members = split_members(text) if text.startswith("{") else {}
    if len(members) != 1:
        return None
    [(name, arguments)] = members.items()
    # Cut off behind the colon, the arguments are empty.
    return JsonCall(name, arguments) if arguments[:1] in ("", "{") else None


PARSER = Parser(NAME, (OPEN,), read_calls, anywhere=True)
