from __future__ import annotations

from dataclasses import replace

from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.tag_formats.named_tags import NamedCalls, named_tags, read_named_calls

NAME = "minicpm5"
# Detokenizers turn the blank into `Ġ`, or lose it.
GAPS = (" ", "Ġ", "")
OPENERS = tuple(f"<function{gap}name=" for gap in GAPS)
CLOSER = "</function>"

_CDATA = ("<![CDATA[", "]]>")


def _unwrapped(value: str) -> str:
    # Only a value that is one whole block: anything else may be what was meant.
    start, stop = _CDATA
    whole = value.startswith(start) and value.find(stop) == len(value) - len(stop)
    return value[len(start) : -len(stop)] if whole else value


TAGS = replace(named_tags("function", "param", gap="[ Ġ]?"), unwrap=_unwrapped)
FUNCTIONS = NamedCalls(NAME, TAGS, OPENERS, (CLOSER,))


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`<function name="f"><param name="a">1</param></function>`, a value bare or in CDATA."""
    return (yield from read_named_calls(cursor, context, FUNCTIONS))


PARSER = Parser(NAME, OPENERS, read_calls)
