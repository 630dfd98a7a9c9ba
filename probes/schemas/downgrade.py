"""A simpler schema for an endpoint that cannot follow the full one, and the way back.

`strict`: every object closed, every key required, optional keys nullable; free-form objects as JSON
text. `simple_object`: no references, unions or nulls; objects deeper than `max_depth` flattened
into dotted keys (`a.b`), any other complex value as JSON text. `string_only`: every parameter a
string. Restored arguments are not validated here: pass them to `probes.resolve`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from probes.call_arguments import SchemaChecker
from probes.messages import JSON
from probes.schemas.convert import (
    Convert,
    ObjectField,
    SchemaPiece,
    as_text,
    convert_items,
    first_that_fits,
    keep_value,
    make_nullable,
    restore_object,
    simplify_object,
)
from probes.schemas.types import resolve_ref
from probes.schemas.variants import (
    TooIntricate,
    Variant,
    collapse_scalars,
    expand_variants,
    merge_objects,
)

MAX_DEPTH = 2
MAX_NODES = 2000
MAX_HINT = 300
JSON_KEY = "json"  # the only key if the whole arguments object is written as text
_KEPT_KEYWORDS = ("type", "description", "enum")
_KEPT_KEYWORDS_STRICT = (*_KEPT_KEYWORDS, "pattern", "format", "minimum", "maximum", "multipleOf")


class SchemaLevel(StrEnum):
    """How much of a schema an endpoint can follow."""

    STRICT = "strict"
    SIMPLE_OBJECT = "simple_object"
    STRING_ONLY = "string_only"


@dataclass(frozen=True, slots=True)
class DowngradedSchema:
    """The schema to offer, and the conversions between its arguments and the original's.

    `simplify` is for calls in the history: the model should see what it wrote.
    """

    schema: Mapping[str, JSON]
    simplify: Callable[[Mapping[str, JSON]], Mapping[str, JSON]]
    restore: Callable[[Mapping[str, JSON]], Mapping[str, JSON]]


def downgrade_schema(
    schema: Mapping[str, JSON] | None, level: SchemaLevel | str, *, max_depth: int = MAX_DEPTH
) -> DowngradedSchema:
    """The schema at a level. Never raises on a schema that is JSON."""
    builder = _Builder(schema or {}, SchemaLevel(level), max_depth)
    piece = builder.root_piece()
    return DowngradedSchema(piece.schema, _on_objects(piece.simplify), _on_objects(piece.restore))


@dataclass(slots=True)
class _Builder:
    """Downgrades one schema."""

    root: Mapping[str, JSON]
    level: SchemaLevel
    max_depth: int
    nodes: int = 0

    def root_piece(self) -> SchemaPiece:
        try:
            variants = [
                variant
                for variant in expand_variants(self.root, self.root)
                if variant.type in ("object", "")
            ]
        except TooIntricate:
            variants = []
        if not variants:
            return self._whole_as_text()
        merged = merge_objects(variants)
        if not merged.schema["properties"] and _is_open(merged.schema):
            return self._whole_as_text()
        return self._object(merged, 0)

    def piece(self, schema: JSON, refs: tuple[str, ...], depth: int) -> SchemaPiece:
        """The simplified form of any schema below the root."""
        self.nodes += 1
        try:
            variants = expand_variants(schema, self.root, refs)
        except TooIntricate:
            variants = []
        values = [variant for variant in variants if variant.type != "null"]
        admits_null = len(values) < len(variants)
        if not values or self.nodes > MAX_NODES:
            return self._text(schema)
        if self.level is SchemaLevel.STRING_ONLY:
            return self._string(schema, values, admits_null=admits_null)
        plain = self._plain(values, depth) or self._text(schema)
        return self._nullable(plain) if admits_null else plain

    def _plain(self, values: list[Variant], depth: int) -> SchemaPiece | None:
        """The form of a place that admits these variants; None if only text works."""
        if (scalar := collapse_scalars(values)) is not None:
            return self._scalar(values[0] if len(values) == 1 else scalar)
        types = {variant.type for variant in values}
        if types == {"array"} and len(values) == 1:
            return self._array(values[0], depth)
        if self.level is SchemaLevel.STRICT and len(values) > 1:
            return self._choice(values, depth)
        if types == {"object"}:
            merged = merge_objects(values)
            return self._object(merged, depth) if merged.schema["properties"] else None
        return None

    def _scalar(self, variant: Variant) -> SchemaPiece:
        keywords = _KEPT_KEYWORDS_STRICT if self.level is SchemaLevel.STRICT else _KEPT_KEYWORDS
        schema = {key: variant.schema[key] for key in keywords if key in variant.schema}
        return SchemaPiece(schema, keep_value, keep_value)

    def _string(self, schema: JSON, values: list[Variant], *, admits_null: bool) -> SchemaPiece:
        scalar = collapse_scalars(values)
        if scalar is None or scalar.type != "string" or admits_null:
            return self._text(schema)
        return self._scalar(values[0] if len(values) == 1 else scalar)

    def _array(self, variant: Variant, depth: int) -> SchemaPiece:
        items = variant.schema.get("items", {})
        if not isinstance(items, Mapping | bool) or "prefixItems" in variant.schema:
            return self._text(variant.schema)
        flat = self.level is not SchemaLevel.STRICT
        if flat and depth >= self.max_depth:
            inner = self._text(items)
        else:
            inner = self.piece(items, variant.refs, depth + 1)
        if inner.nullable and flat:
            inner = self._text(items)
        schema: dict[str, JSON] = {"type": "array", "items": inner.schema, **_description(variant)}
        return SchemaPiece(schema, convert_items(inner.simplify), convert_items(inner.restore))

    def _choice(self, values: list[Variant], depth: int) -> SchemaPiece | None:
        pieces = [self._plain([variant], depth) for variant in values]
        known = [piece for piece in pieces if piece is not None]
        if len(known) < len(pieces):
            return None
        full = [SchemaChecker(self._standalone(variant.schema)) for variant in values]
        simple = [SchemaChecker(piece.schema) for piece in known]
        schema: dict[str, JSON] = {"anyOf": [piece.schema for piece in known]}
        simplify = first_that_fits(full, [piece.simplify for piece in known])
        restore = first_that_fits(simple, [piece.restore for piece in known], full)
        return SchemaPiece(schema, simplify, restore)

    def _object(self, variant: Variant, depth: int) -> SchemaPiece:
        properties = variant.schema["properties"]
        assert isinstance(properties, Mapping)
        required = variant.schema.get("required")
        names = set(required) if isinstance(required, list) else set()
        fields = [
            self._field(key, properties, variant.refs, depth, required=key in names)
            for key in properties
            if properties[key] is not False
        ]
        schema = self._object_schema(fields) | _description(variant)
        closed = self.level is SchemaLevel.STRICT
        return SchemaPiece(schema, simplify_object(fields, closed=closed), restore_object(fields))

    def _field(
        self,
        key: str,
        properties: Mapping[str, JSON],
        refs: tuple[str, ...],
        depth: int,
        *,
        required: bool,
    ) -> ObjectField:
        flat = self.level is SchemaLevel.SIMPLE_OBJECT and depth >= self.max_depth
        piece = self.piece(properties[key], refs, depth if flat else depth + 1)
        if not flat or piece.schema.get("type") != "object":
            return ObjectField(key, piece, required)
        # A declared key with this prefix would be mistaken for a flattened one.
        if any(other.startswith(f"{key}.") for other in properties):
            return ObjectField(key, self._text(properties[key]), required)
        return ObjectField(key, piece, required, dotted=True)

    def _object_schema(self, fields: list[ObjectField]) -> dict[str, JSON]:
        properties: dict[str, JSON] = {}
        required: list[JSON] = []
        for field in fields:
            properties |= _inner_properties(field)
            required += _inner_required(field)
        if self.level is not SchemaLevel.STRICT:
            return {"type": "object", "properties": properties, "required": required}
        optional = {field.key for field in fields if not field.required}
        for key in optional:
            properties[key] = _or_null(properties[key])
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    def _text(self, schema: JSON) -> SchemaPiece:
        """The place as JSON text; text that fits as it is need not be quoted."""
        checker = SchemaChecker(self._standalone(schema))
        description = schema.get("description") if isinstance(schema, Mapping) else None
        hint = f"JSON text of a value that fits {_compact(self._dereference(schema))}"
        text = f"{description} ({hint})" if isinstance(description, str) else hint
        simplify, restore = as_text(checker)
        return SchemaPiece({"type": "string", "description": text}, simplify, restore)

    def _nullable(self, piece: SchemaPiece) -> SchemaPiece:
        nullable = make_nullable(piece)
        if self.level is not SchemaLevel.STRICT:
            return nullable
        return replace(nullable, schema=_or_null(piece.schema))

    def _whole_as_text(self) -> SchemaPiece:
        inner = self._text(self.root)
        schema: dict[str, JSON] = {
            "type": "object",
            "properties": {JSON_KEY: inner.schema},
            "required": [JSON_KEY],
            "additionalProperties": False,
        }

        def restore(value: JSON) -> JSON:
            if isinstance(value, Mapping) and set(value) == {JSON_KEY}:
                return inner.restore(value[JSON_KEY])
            return value

        return SchemaPiece(schema, lambda value: {JSON_KEY: inner.simplify(value)}, restore)

    def _dereference(self, schema: JSON) -> JSON:
        """The target of a lone reference, for a reader without the definitions."""
        match schema:
            case {"$ref": str(ref)}:
                return resolve_ref(ref, self.root)
            case _:
                return schema

    def _standalone(self, schema: JSON) -> Mapping[str, JSON] | None:
        """A part of the schema with the definitions, so that it can be checked alone."""
        if not isinstance(schema, Mapping):
            return None
        shared = {key: self.root[key] for key in ("$defs", "definitions") if key in self.root}
        return {**shared, **schema}


def _on_objects(convert: Convert) -> Callable[[Mapping[str, JSON]], Mapping[str, JSON]]:
    def run(arguments: Mapping[str, JSON]) -> Mapping[str, JSON]:
        converted = convert(arguments)
        return converted if isinstance(converted, Mapping) else arguments

    return run


def _is_open(schema: Mapping[str, JSON]) -> bool:
    """Whether an object allows undeclared keys."""
    return bool(schema.get("additionalProperties") or schema.get("patternProperties"))


def _description(variant: Variant) -> dict[str, JSON]:
    description = variant.schema.get("description")
    return {"description": description} if isinstance(description, str) else {}


def _or_null(schema: JSON) -> dict[str, JSON]:
    members = schema.get("anyOf") if isinstance(schema, Mapping) else None
    known = list(members) if isinstance(members, list) else [schema]
    null: JSON = {"type": "null"}
    return {"anyOf": known if null in known else [*known, null]}


def _inner_properties(field: ObjectField) -> dict[str, JSON]:
    """The keys that replace one key in the flattened object."""
    inner = field.piece.schema.get("properties")
    if not field.dotted or not isinstance(inner, Mapping):
        return {field.key: field.piece.schema}
    return {field.prefix + key: schema for key, schema in inner.items()}


def _inner_required(field: ObjectField) -> list[JSON]:
    if not field.required or field.piece.nullable:
        return []
    inner = field.piece.schema.get("required")
    if not field.dotted or not isinstance(inner, list):
        return [field.key]
    return [f"{field.prefix}{key}" for key in inner]


def _compact(schema: JSON) -> str:
    text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return text if len(text) <= MAX_HINT else text[:MAX_HINT] + "..."
