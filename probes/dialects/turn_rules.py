"""Turns as one vendor wants them to stand: roles, order of results, who may speak after whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import filterfalse

from probes.history.pairing import PartRef, pair_results
from probes.history.request_changes import Change, ChangeKind
from probes.messages import JSON, Part, Role, Text, ToolCall, ToolResult, Turn

BRIDGE = "Done."


def rename_roles(
    turns: Sequence[Turn], roles: Mapping[str, str], changes: list[Change]
) -> list[Turn]:
    """The turns without role names of a format that this vendor does not know."""
    mapped = []
    for index, turn in enumerate(turns):
        extra = {form: _without_role(fields, roles) for form, fields in turn.extra.items()}
        if extra == turn.extra:
            mapped.append(turn)
            continue
        message = f"The role is written as {str(turn.role)!r}."
        changes.append(Change(ChangeKind.ROLE_MAPPED, message, f"$.turns[{index}]"))
        kept = {form: left for form, left in extra.items() if left}
        mapped.append(replace(turn, extra=kept))
    return mapped


def separate_results(turns: Sequence[Turn]) -> list[Turn]:
    """The turns with results in tool turns only: some formats carry nothing else beside them."""
    return [part for turn in turns for part in _separate_turn(turn)]


def fill_empty_arguments(turns: Sequence[Turn], changes: list[Change]) -> list[Turn]:
    """The turns with `{}` for a call that came with no argument text, which is no JSON."""
    filled = [_with_parts(turn, map(_fill_empty, turn.parts)) for turn in turns]
    message = "A call without argument text is sent with an empty object."
    changes += _changed(turns, filled, ChangeKind.ARGUMENTS_FILLED, message)
    return filled


def drop_blank_text(turns: Sequence[Turn], changes: list[Change]) -> list[Turn]:
    """The turns without texts of white space, which vendors write before calls and one refuses."""
    stripped = [_with_parts(turn, filterfalse(_is_blank, turn.parts)) for turn in turns]
    # A user who says nothing else has said this; an assistant has said nothing.
    kept = [
        after if after.parts or turn.role is Role.ASSISTANT else turn
        for turn, after in zip(turns, stripped, strict=True)
    ]
    message = "A text of white space is left out."
    changes += _changed(turns, kept, ChangeKind.BLANK_TEXT_DROPPED, message)
    return kept


def bridge_turns(turns: Sequence[Turn], changes: list[Change]) -> list[Turn]:
    """The turns with a short word of the assistant wherever another speaks after a result."""
    spoken: list[Turn] = []
    for index, turn in enumerate(turns):
        after_result = bool(spoken) and spoken[-1].role is Role.TOOL
        if after_result and turn.role not in (Role.ASSISTANT, Role.TOOL):
            spoken.append(Turn(Role.ASSISTANT, (Text(BRIDGE),)))
            message = "Only the assistant may speak after a result."
            changes.append(Change(ChangeKind.BRIDGE_INSERTED, message, f"$.turns[{index}]"))
        spoken.append(turn)
    return spoken


def order_results(turns: Sequence[Turn], changes: list[Change]) -> list[Turn]:
    """The turns with the results of each block in the order of its calls."""
    blocks: dict[int, list[PartRef]] = defaultdict(list)
    for call, result in sorted(pair_results(turns).adjacent.items()):
        blocks[call.turn].append(result)
    moved: dict[PartRef, Part] = {}
    for block, results in blocks.items():
        places = sorted(results)
        if places != results:
            message = "The results stand in the order of their calls."
            path = f"$.turns[{block}]"
            changes.append(Change(ChangeKind.RESULTS_REORDERED, message, path))
            for place, result in zip(places, results, strict=True):
                moved[place] = turns[result.turn].parts[result.part]
    return (
        [_with_moved(turn, index, moved) for index, turn in enumerate(turns)] if moved else [*turns]
    )


def _with_parts(turn: Turn, parts: Iterable[Part]) -> Turn:
    now = tuple(parts)
    return turn if now == turn.parts else replace(turn, parts=now)


def _changed(
    before: Sequence[Turn], after: Sequence[Turn], kind: ChangeKind, message: str
) -> Iterator[Change]:
    for index, (old, new) in enumerate(zip(before, after, strict=True)):
        if new is not old:
            yield Change(kind, message, f"$.turns[{index}]")


def _is_blank(part: Part) -> bool:
    return isinstance(part, Text) and not part.text.strip()


def _with_moved(turn: Turn, index: int, moved: Mapping[PartRef, Part]) -> Turn:
    return _with_parts(
        turn, (moved.get(PartRef(index, place), part) for place, part in enumerate(turn.parts))
    )


def _separate_turn(turn: Turn) -> Iterator[Turn]:
    """A user's turn that has results, as the results and what the user said."""
    results = turn.results
    if turn.role is not Role.USER or not results:
        yield turn
        return
    others = tuple(part for part in turn.parts if not isinstance(part, ToolResult))
    if not others:
        yield replace(turn, role=Role.TOOL)
        return
    yield Turn(Role.TOOL, results)
    yield replace(turn, parts=others)


def _fill_empty(part: Part) -> Part:
    if not isinstance(part, ToolCall) or part.raw or part.input:
        return part
    return replace(part, raw="{}")


def _without_role(fields: JSON, roles: Mapping[str, str]) -> JSON:
    if not isinstance(fields, Mapping) or fields.get("role") not in roles:
        return fields
    return {key: value for key, value in fields.items() if key != "role"}
