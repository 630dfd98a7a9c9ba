"""Arranges turns as a vendor requires: roles, order of results, and who may follow a result."""

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
    """The turns without role names that this vendor does not know."""
    mapped = []
    for index, turn in enumerate(turns):
        extra = {form: _without_role(fields, roles) for form, fields in turn.extra.items()}
        if extra == turn.extra:
            mapped.append(turn)
            continue
        message = f"The role is written as {str(turn.role)!r}."
        changes.append(Change(ChangeKind.ROLE_MAPPED, message, f"$.turns[{index}]"))
        mapped_extra = {form: form_fields for form, form_fields in extra.items() if form_fields}
        mapped.append(replace(turn, extra=mapped_extra))
    return mapped


def separate_results(turns: Sequence[Turn]) -> list[Turn]:
    """The turns with results in tool turns only: some formats allow nothing else beside them."""
    return [part for turn in turns for part in _separate_turn(turn)]


def fill_empty_arguments(turns: Sequence[Turn], changes: list[Change]) -> list[Turn]:
    """The turns with `{}` for calls without argument text, which is not JSON."""
    filled = [_with_parts(turn, map(_fill_empty, turn.parts)) for turn in turns]
    message = "A call without argument text is sent with an empty object."
    changes += _changed(turns, filled, ChangeKind.ARGUMENTS_FILLED, message)
    return filled


def drop_blank_text(turns: Sequence[Turn], changes: list[Change]) -> list[Turn]:
    """The turns without blank texts, which vendors write before calls and one refuses."""
    stripped = [_with_parts(turn, filterfalse(_is_blank, turn.parts)) for turn in turns]
    # A user turn keeps blank text if it has nothing else; an assistant turn does not.
    trimmed = [
        after if after.parts or turn.role is Role.ASSISTANT else turn
        for turn, after in zip(turns, stripped, strict=True)
    ]
    message = "A text of white space is left out."
    changes += _changed(turns, trimmed, ChangeKind.BLANK_TEXT_DROPPED, message)
    return trimmed


def bridge_turns(turns: Sequence[Turn], changes: list[Change]) -> list[Turn]:
    """The turns with a short assistant text wherever another role follows a result."""
    bridged: list[Turn] = []
    for index, turn in enumerate(turns):
        after_result = bool(bridged) and bridged[-1].role is Role.TOOL
        if after_result and turn.role not in (Role.ASSISTANT, Role.TOOL):
            bridged.append(Turn(Role.ASSISTANT, (Text(BRIDGE),)))
            message = "Only the assistant may speak after a result."
            changes.append(Change(ChangeKind.BRIDGE_INSERTED, message, f"$.turns[{index}]"))
        bridged.append(turn)
    return bridged


def order_results(turns: Sequence[Turn], changes: list[Change]) -> list[Turn]:
    """The turns with the results of each block in the order of its calls."""
    blocks: dict[int, list[PartRef]] = defaultdict(list)
    for call, result in sorted(pair_results(turns).adjacent.items()):
        blocks[call.turn].append(result)
    moved: dict[PartRef, Part] = {}
    for block, results in blocks.items():
        positions = sorted(results)
        if positions != results:
            message = "The results stand in the order of their calls."
            path = f"$.turns[{block}]"
            changes.append(Change(ChangeKind.RESULTS_REORDERED, message, path))
            for position, result in zip(positions, results, strict=True):
                moved[position] = turns[result.turn].parts[result.part]
    return (
        [_with_moved(turn, index, moved) for index, turn in enumerate(turns)] if moved else [*turns]
    )


def _with_parts(turn: Turn, parts: Iterable[Part]) -> Turn:
    new_parts = tuple(parts)
    return turn if new_parts == turn.parts else replace(turn, parts=new_parts)


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
        turn,
        (moved.get(PartRef(index, position), part) for position, part in enumerate(turn.parts)),
    )


def _separate_turn(turn: Turn) -> Iterator[Turn]:
    """A user turn with results, split into the results and the user's text."""
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
