"""Converts arguments between a schema and its simplified form, in both directions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from probes.call_arguments import SchemaChecker
from probes.messages import JSON
from probes.resolve.json_repair import read_json

Convert: TypeAlias = Callable[[JSON], JSON]


@dataclass(frozen=True, slots=True)
class SchemaPiece:
    """The simplified schema of one place. Both conversions ignore values of another shape."""

    schema: Mapping[str, JSON]
    simplify: Convert
    restore: Convert
    nullable: bool = False  # the original admits null


@dataclass(frozen=True, slots=True)
class ObjectField:
    """One key of an object; `dotted` if its own keys are flattened into the object."""

    key: str
    piece: SchemaPiece
    required: bool
    dotted: bool = False

    @property
    def prefix(self) -> str:
        return f"{self.key}."


def keep_value(value: JSON) -> JSON:
    """The conversion of a place that is already simple."""
    return value


def make_nullable(piece: SchemaPiece) -> SchemaPiece:
    """The same place with null allowed."""
    return replace(
        piece,
        simplify=lambda value: None if value is None else piece.simplify(value),
        restore=lambda value: None if value is None else piece.restore(value),
        nullable=True,
    )


def convert_items(convert: Convert) -> Convert:
    """Convert every item of an array."""

    def run(value: JSON) -> JSON:
        return [convert(item) for item in value] if isinstance(value, list) else value

    return run


def first_that_fits(
    checkers: Sequence[SchemaChecker],
    converts: Sequence[Convert],
    results: Sequence[SchemaChecker] = (),
) -> Convert:
    """Convert with the first variant that the value fits, and whose result fits `results`."""

    def run(value: JSON) -> JSON:
        for index, (checker, convert) in enumerate(zip(checkers, converts, strict=True)):
            if checker.misfit(value) is not None:
                continue
            result = convert(value)
            if not results or results[index].misfit(result) is None:
                return result
        return value

    return run


def as_text(checker: SchemaChecker) -> tuple[Convert, Convert]:
    """A value as JSON text. A string stays bare if it cannot be mistaken for another value."""

    def restore(value: JSON) -> JSON:
        if not isinstance(value, str):
            return value
        read = read_json(value)
        readings = [value] if read.error is not None else [read.value, value]
        return next(
            (reading for reading in readings if checker.misfit(reading) is None), readings[0]
        )

    def simplify(value: JSON) -> JSON:
        bare = isinstance(value, str) and restore(value) == value
        return value if bare else json.dumps(value, ensure_ascii=False)

    return simplify, restore


def simplify_object(fields: Sequence[ObjectField], *, closed: bool) -> Convert:
    """Simplify an object by key; `closed` writes null for absent keys and drops unknown ones."""
    known = {field.key for field in fields}

    def run(value: JSON) -> JSON:
        if not isinstance(value, Mapping):
            return value
        simplified: dict[str, JSON] = {}
        for field in fields:
            simplified |= _simplified(field, value, closed=closed)
        rest = {} if closed else {key: value[key] for key in value if key not in known}
        return simplified | rest

    return run


def restore_object(fields: Sequence[ObjectField]) -> Convert:
    """Restore the object, with absent keys absent and flattened objects nested."""

    def run(value: JSON) -> JSON:
        if not isinstance(value, Mapping):
            return value
        restored = dict(value)
        for field in fields:
            inner = _pop_field(field, restored)
            if inner is not None or _keeps_null(field, value):
                restored[field.key] = None if inner is None else field.piece.restore(inner)
        return restored

    return run


def _simplified(field: ObjectField, value: Mapping[str, JSON], *, closed: bool) -> dict[str, JSON]:
    if field.key not in value:
        return {field.key: None} if closed and not field.required else {}
    inner = field.piece.simplify(value[field.key])
    if inner is None and not closed:
        return {}
    if field.dotted and isinstance(inner, Mapping):
        return {field.prefix + key: item for key, item in inner.items()}
    return {field.key: inner}


def _pop_field(field: ObjectField, arguments: dict[str, JSON]) -> JSON:
    """Remove the model's value for a key from the object and return it; None if there is none."""
    whole = arguments.pop(field.key, None)
    if not field.dotted or whole is not None:
        return whole
    keys = [key for key in arguments if key.startswith(field.prefix)]
    parts = {key.removeprefix(field.prefix): arguments.pop(key) for key in keys}
    # An object whose keys are all optional may be meant to be empty.
    return parts if parts or (field.required and not field.piece.nullable) else None


def _keeps_null(field: ObjectField, value: Mapping[str, JSON]) -> bool:
    if field.piece.nullable:
        return field.required or field.key in value
    return field.required and field.key in value
