"""The rule of the Responses API: a reasoning item is replayed together with the item that follows
it, or the ids that link them are removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from probes.history.request_changes import Change, ChangeKind
from probes.losses import Loss, LossKind
from probes.messages import JSON, Opaque, Part, Reasoning, ReasoningKind, Text, ToolCall

FORMAT = "openai_responses"
# Where a text keeps the fields of its message item.
ITEM = "$item"


def is_item(part: Part) -> bool:
    """Whether a part is a reasoning item."""
    return isinstance(part, Reasoning) and part.kind is ReasoningKind.ITEM


def lone_items(parts: Sequence[Part]) -> list[int]:
    """The indexes of reasoning items without a following item that they could belong to."""
    lone = []
    leads = False
    for index in reversed(range(len(parts))):
        if not is_item(parts[index]):
            leads = leads or isinstance(parts[index], ToolCall | Text | Opaque)
        elif not leads:
            lone.append(index)
    return lone[::-1]


def drop_lone_items(parts: Sequence[Part], path: str, losses: list[Loss]) -> list[Part]:
    """The parts without reasoning items that would be refused for lack of a following item."""
    lone = set(lone_items(parts))
    message = "A reasoning item without the item that followed it would be refused."
    for index in sorted(lone):
        losses.append(Loss(LossKind.REASONING, f"{path}.parts[{index}]", message))
    return [part for index, part in enumerate(parts) if index not in lone]


def without_item_ids(parts: Sequence[Part], path: str, changes: list[Change]) -> list[Part]:
    """The parts without the ids that would make the endpoint look for a reasoning item."""
    bare = [_without_id(part) for part in parts]
    message = "The item's id is left out, because its reasoning item does not go back."
    for index, (before, after) in enumerate(zip(parts, bare, strict=True)):
        if after is not before:
            at = f"{path}.parts[{index}]"
            changes.append(Change(ChangeKind.ITEM_ID_STRIPPED, message, at))
    return bare


def _without_id(part: Part) -> Part:
    if not isinstance(part, Text | ToolCall):
        return part
    fields = _mapping(part.extra.get(FORMAT))
    item = _mapping(fields.get(ITEM))
    if "id" not in fields and "id" not in item:
        return part
    remaining = _rest(fields, "id", ITEM)
    if remaining_item := _rest(item, "id"):
        remaining[ITEM] = remaining_item
    others = _rest(part.extra, FORMAT)
    return replace(part, extra={**others, FORMAT: remaining} if remaining else others)


def _mapping(value: JSON) -> Mapping[str, JSON]:
    return value if isinstance(value, Mapping) else {}


def _rest(fields: Mapping[str, JSON], *names: str) -> dict[str, JSON]:
    return {key: value for key, value in fields.items() if key not in names}
