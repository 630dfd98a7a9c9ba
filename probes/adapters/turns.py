"""Turns of the formats that have no role for results."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from probes.messages import BrokenCall, Extra, Part, Role, ToolResult, Turn


def user_turns(parts: Sequence[Part], extra: Extra) -> list[Turn]:
    """A user message as turns: results stand in tool turns of their own."""
    if not parts:
        return [Turn(Role.USER, (), extra=extra)]
    turns: list[Turn] = []
    for is_result, run in groupby(parts, lambda part: isinstance(part, ToolResult)):
        role = Role.TOOL if is_result else Role.USER
        turns.append(Turn(role, tuple(run), extra=extra if not turns else {}))
    return turns


def unwritten_calls(turns: Sequence[Turn]) -> set[str]:
    """The ids of calls that were broken, whose results would be orphans."""
    broken = {part.id for turn in turns for part in turn.parts if isinstance(part, BrokenCall)}
    return broken - {call.id for turn in turns for call in turn.calls}
