from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from probes.history.request_changes import Change, ChangeKind
from probes.messages import BrokenCall, Extra, Role, ToolCall, Turn


def merge_turns(turns: Sequence[Turn], changes: list[Change]) -> list[Turn]:
    """One assistant turn per model turn: joins text and calls that were stored separately.

    Gemini, Anthropic and Mistral refuse a history in which the text and the calls of one answer are
    two messages. The order of the parts is kept. Turns of different origins stay separate.
    """
    answers: list[_Answer] = []
    for turn in turns:
        if answers and answers[-1].accepts(turn):
            answers[-1].add(turn)
        else:
            answers.append(_Answer(turn))
    merged: list[Turn] = []
    for answer in answers:
        if answer.is_split:
            message = f"Text and calls of one answer in {len(answer.turns)} turns became one."
            changes.append(Change(ChangeKind.MERGED_TURNS, message, f"$.turns[{len(merged)}]"))
        merged.extend(answer.merged())
    return merged


class _Answer:
    """Consecutive turns that may be one answer."""

    def __init__(self, turn: Turn) -> None:
        self.turns = [turn]
        self.extra = turn.extra

    def accepts(self, turn: Turn) -> bool:
        first = self.turns[0]
        return (
            first.role is Role.ASSISTANT
            and turn.role is Role.ASSISTANT
            and first.origin == turn.origin
            and _can_join(self.extra, turn.extra)
        )

    def add(self, turn: Turn) -> None:
        self.turns.append(turn)
        self.extra = _join_extras(self.extra, turn.extra)

    @property
    def is_split(self) -> bool:
        """Whether calls were stored separately; texts alone may be several messages."""
        return len(self.turns) > 1 and any(map(_has_calls, self.turns))

    def merged(self) -> list[Turn]:
        if not self.is_split:
            return self.turns
        parts = tuple(part for turn in self.turns for part in turn.parts)
        return [replace(self.turns[0], parts=parts, extra=self.extra)]


def _has_calls(turn: Turn) -> bool:
    return any(isinstance(part, ToolCall | BrokenCall) for part in turn.parts)


def _can_join(first: Extra, second: Extra) -> bool:
    return all(
        key not in first
        or first[key] == value
        or (isinstance(value, Mapping) and _agree(first[key], value))
        for key, value in second.items()
    )


def _agree(first: object, second: Mapping[str, object]) -> bool:
    if not isinstance(first, Mapping):
        return False
    return all(key not in first or first[key] == value for key, value in second.items())


def _join_extras(first: Extra, second: Extra) -> Extra:
    joined = dict(first)
    for key, value in second.items():
        known = joined.get(key)
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            joined[key] = {**known, **value}
        else:
            joined[key] = value
    return joined
