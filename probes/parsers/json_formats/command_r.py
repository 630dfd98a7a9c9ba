from __future__ import annotations

from dataclasses import replace

from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading
from probes.parsers.json_formats.json_output import emit_raw_calls, read_raw_calls, skip_closers
from probes.parsers.json_formats.json_scan import read_value

NAME = "command_r"
FENCE = "```"
# What the model calls where it needs no tool.
NO_TOOL = frozenset({"directly_answer", "directly-answer"})


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """`Action: ```json [{"tool_name": "f", "parameters": {"a": 1}}]`, and the fence's end.

    Prose may look the same, so only declared names count.
    """
    if not (yield from cursor.skip("```json", FENCE)):
        return False
    if (yield from cursor.skip_space()) not in ("{", "["):
        return False
    body = yield from read_value(cursor)
    closer = yield from cursor.skip(FENCE)
    found = read_raw_calls(body, NAME)
    calls = [call for call in found if not _needs_no_tool(call.name, context)]
    if found and not calls:
        return body.balanced
    if not all(context.knows(call.name) for call in calls):
        return False
    whole = replace(body, closer=closer)
    if not (yield from emit_raw_calls(cursor, context, whole, calls, closers=(FENCE,))):
        return False
    yield from skip_closers(cursor, FENCE)
    return True


def _needs_no_tool(name: str, context: ParseContext) -> bool:
    return name in NO_TOOL and not (context.tools and context.knows(name))


PARSER = Parser(NAME, ("Action:",), read_calls)
