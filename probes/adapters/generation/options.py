"""The options of a generation in one wire format: a table of rows that are read and written alike.

A row names the request fields that hold an option, as dotted paths. Fields that still say what the
generation says are sent as they were received; others are replaced by the format's own words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from probes.losses import Loss, LossKind
from probes.messages import (
    DEFAULT_GENERATION,
    JSON,
    Generation,
    JSONOutput,
    ModelCall,
    Thinking,
    ThinkingMode,
)

# OpenAI refuses longer ids of users and sessions.
MAX_USER = 64
# Gemini's budgets for OpenAI's words.
EFFORT_BUDGETS = {
    "minimal": 1024,
    "low": 1024,
    "medium": 8192,
    "high": 24576,
    "xhigh": 24576,
    "max": 24576,
}
LOSS_KINDS = {
    "stop": LossKind.STOP_SEQUENCES,
    "thinking": LossKind.THINKING,
    "output": LossKind.OUTPUT_FORMAT,
    "user": LossKind.USER,
    "session": LossKind.USER,
}
# Every other format reports usage in any case.
SAID_ANYWAY = frozenset({"include_usage"})
# What a reader returns for fields that ask for the default.
DEFAULT = "default"
Values: TypeAlias = "tuple[JSON, ...]"


@dataclass(frozen=True, slots=True)
class Option:
    """One option in one format.

    `read` takes the values of the fields, None for those that are absent, and returns None if it
    does not understand them. `write` returns the values, or None if the format cannot say it;
    `changed` is a sentence about what the written form no longer says.
    """

    name: str
    paths: tuple[str, ...]
    read: Callable[..., Any]
    write: Callable[[Any], Values | None]
    changed: Callable[[Any], str] = lambda _: ""

    def read_from(self, body: Mapping[str, JSON]) -> Any:
        """The option's value in a request; None if it is not there or not understood."""
        values = [_field(body, path) for path in self.paths]
        return None if all(value is None for value in values) else self.read(*values)


class OptionTable:
    """The options of one format."""

    def __init__(self, *options: Option) -> None:
        self.options = {option.name: option for option in options}
        self._by_field: dict[str, list[Option]] = {}
        for option in options:
            for field in dict.fromkeys(path.partition(".")[0] for path in option.paths):
                self._by_field.setdefault(field, []).append(option)

    def __iter__(self) -> Iterator[Option]:
        return iter(self.options.values())

    def touched_by(self, body: Mapping[str, JSON]) -> dict[str, Option]:
        """The options whose fields occur in a request, by name."""
        by_field = self._by_field
        fields = [field for field in body if field in by_field]
        return {option.name: option for field in fields for option in by_field[field]}


def read_generation(options: OptionTable, body: Mapping[str, JSON]) -> Generation:
    """The generation that the fields of a request describe."""
    touched = options.touched_by(body)
    if not touched:
        return DEFAULT_GENERATION
    found = {name: option.read_from(body) for name, option in touched.items()}
    found = {name: value for name, value in found.items() if value not in (None, DEFAULT)}
    return Generation(**found) if found else DEFAULT_GENERATION


def write_generation(
    options: OptionTable, own: Mapping[str, JSON], call: ModelCall
) -> tuple[dict[str, JSON], dict[str, JSON]]:
    """The client's fields that still hold, and those that say the rest of the generation."""
    kept, written = dict(own), dict[str, JSON]()
    touched = options.touched_by(own) if own else {}
    if call.generation is not DEFAULT_GENERATION:
        touched |= _options_of(call.generation, options)
    for option in touched.values():
        before, value = option.read_from(own), getattr(call.generation, option.name)
        if value == (None if before == DEFAULT else before):
            continue
        if before is not None:
            kept = without_paths(kept, option.paths)
        for path, item in zip(option.paths, _written(option, value) or (), strict=False):
            if item is not None:
                written = merge_fields(written, _nested(path, item))
    return kept, written


def generation_losses(
    options: OptionTable, generation: Generation, own: Mapping[str, JSON]
) -> Iterator[Loss]:
    """What this format cannot say of a generation; `own` are the client's fields in this format."""
    if generation is DEFAULT_GENERATION:
        return
    for name in Generation.__slots__:
        value, row = getattr(generation, name), options.options.get(name)
        if value is None or name in SAID_ANYWAY or (row and row.read_from(own) == value):
            continue
        message = f"The format has no {name.replace('_', ' ')} of this kind."
        if row is not None and _written(row, value) is not None:
            message = row.changed(value)
        if message:
            kind = LOSS_KINDS.get(name, LossKind.SAMPLING)
            yield Loss(kind, f"$.generation.{name}", message)


def unread_options(
    options: OptionTable, fields: Mapping[str, JSON], generation: Generation
) -> dict[str, JSON]:
    """A format's fields without those that the generation says."""
    unread = dict(fields)
    for option in options.touched_by(fields).values():
        value = option.read_from(fields)
        if value is not None and value in (DEFAULT, getattr(generation, option.name)):
            unread = without_paths(unread, option.paths)
    return unread


def _options_of(generation: Generation, options: OptionTable) -> dict[str, Option]:
    """The rows of the options that a generation sets."""
    rows = options.options
    return {name: rows[name] for name in rows if getattr(generation, name) is not None}


def merge_fields(first: Mapping[str, JSON], second: Mapping[str, JSON]) -> dict[str, JSON]:
    """Both objects in one; the second wins. Inner objects are merged, unless they have a type."""
    if not first:
        return dict(second)
    merged = dict(first)
    for name, value in second.items():
        before = merged.get(name)
        if isinstance(before, Mapping) and isinstance(value, Mapping) and "type" not in value:
            merged[name] = merge_fields(before, value)
        else:
            merged[name] = value
    return merged


def without_paths(fields: Mapping[str, JSON], paths: Sequence[str]) -> dict[str, JSON]:
    """An object without the fields at some paths, nor objects that this empties."""
    rest = dict(fields)
    for path in paths:
        name, _, inner = path.partition(".")
        value = rest.get(name)
        if inner and isinstance(value, Mapping):
            rest[name] = without_paths(value, (inner,))
        if not inner or rest.get(name) == {}:
            rest.pop(name, None)
    return rest


# Rows that several formats share.


def number_option(name: str, path: str, *, most: float | None = None) -> Option:
    """A number; one beyond the format's limit is lowered to it."""

    def changed(value: float) -> str:
        lowered = most is not None and value > most
        return f"The {name} {value} is lowered to {most}." if lowered else ""

    def write(value: float) -> Values:
        return (value if most is None else min(value, most),)

    return Option(name, (path,), _number, write, changed)


def stop_option(path: str) -> Option:
    return Option("stop", (path,), _stop, lambda value: (list(value),))


def unlabelled(output: JSONOutput) -> str:
    """What a format loses of an output if it takes only the schema."""
    return "The schema is sent without its description." if output.description else ""


def user_option(name: str, *paths: str, limit: int | None = None) -> Option:
    """An id of a user or session; one that is too long is sent as its digest."""

    def read(*values: JSON) -> str | None:
        return next((value for value in values if isinstance(value, str) and value), None)

    def write(value: str) -> Values:
        too_long = limit is not None and len(value) > limit
        return (hashlib.sha256(value.encode()).hexdigest() if too_long else value,)

    return Option(name, paths, read, write)


def effort_option(path: str) -> Option:
    """Thinking as one word, the form of both OpenAI formats."""
    return Option("thinking", (path,), _thinking_of_effort, _effort_of_thinking, _effort_changes)


def effort_of_budget(budget: int) -> str:
    """The largest of OpenAI's three usual words whose budget is not above this one."""
    return "high" if budget >= 24576 else "medium" if budget >= 8192 else "low"


def _field(body: Mapping[str, JSON], path: str) -> JSON:
    name, _, inner = path.partition(".")
    value = body.get(name)
    if not inner:
        return value
    return _field(value, inner) if isinstance(value, Mapping) else None


def _nested(path: str, value: JSON) -> dict[str, JSON]:
    name, _, inner = path.partition(".")
    return {name: _nested(inner, value) if inner else value}


def _written(option: Option, value: Any) -> Values | None:
    return None if value is None else option.write(value)


def _number(value: JSON) -> float | int | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _stop(value: JSON) -> tuple[str, ...] | str | None:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        return None
    return tuple(str(text) for text in texts) or DEFAULT


def _thinking_of_effort(effort: JSON) -> Thinking | None:
    if not isinstance(effort, str):
        return None
    return Thinking(ThinkingMode.OFF) if effort == "none" else Thinking(ThinkingMode.ON, effort)


def _effort_of_thinking(thinking: Thinking) -> Values | None:
    if thinking.mode is ThinkingMode.OFF:
        return ("none",)
    if thinking.effort:
        return (thinking.effort,)
    if thinking.budget is not None:
        return (effort_of_budget(thinking.budget),)
    return (None,) if thinking.mode is ThinkingMode.ADAPTIVE else None


def _effort_changes(thinking: Thinking) -> str:
    if thinking.budget is None or thinking.mode is ThinkingMode.OFF:
        return ""
    (effort,) = _effort_of_thinking(thinking) or ("",)
    return f"The budget of {thinking.budget} tokens becomes the effort {effort!r}."
