from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.call_arguments import SchemaChecker
from probes.messages import JSON
from probes.schemas.downgrade import SchemaLevel, downgrade_schema

LEVELS = list(SchemaLevel)
Sample: TypeAlias = tuple[dict[str, JSON], JSON]

TREE: dict[str, JSON] = {
    "type": "object",
    "properties": {"value": {"type": "integer"}, "next": {"$ref": "#/$defs/tree"}},
    "required": ["value"],
    "additionalProperties": False,
}
SCHEMA: dict[str, JSON] = {
    "type": "object",
    "properties": {
        "count": {"type": "integer"},
        "note": {"type": ["string", "null"]},
        "unit": {"enum": ["c", "f"]},
        "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "tree": {"$ref": "#/$defs/tree"},
        "labels": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
    "required": ["count", "note"],
    "additionalProperties": False,
    "$defs": {"tree": TREE},
}
FULL: dict[str, JSON] = {
    "count": 1,
    "note": None,
    "unit": "c",
    "either": "5",
    "tree": {"value": 1, "next": {"value": 2, "next": {"value": 3, "next": {"value": 4}}}},
    "labels": {"a": 1},
}


def parts(schema: JSON) -> Iterator[Mapping[str, JSON]]:
    """Every schema inside a schema."""
    if isinstance(schema, Mapping):
        yield schema
        for value in schema.values():
            yield from parts(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from parts(value)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("arguments", [FULL, {"count": 1, "note": "x"}])
def test_arguments_survive_the_way_down_and_back(
    level: SchemaLevel, arguments: dict[str, JSON]
) -> None:
    """Simplified arguments are restored to the same value."""
    down = downgrade_schema(SCHEMA, level)

    simple = down.simplify(arguments)

    assert SchemaChecker(down.schema).misfit(simple) is None
    assert down.restore(simple) == arguments


def test_strict_closes_every_object_and_requires_every_key() -> None:
    """Optional keys become nullable, and null becomes absent on the way back."""
    down = downgrade_schema(SCHEMA, "strict")
    objects = [part for part in parts(down.schema) if part.get("type") == "object"]

    assert len(objects) > 2
    for part in objects:
        assert part["additionalProperties"] is False
        assert part["required"] == list(part["properties"])  # type: ignore[arg-type]
    nothing: dict[str, JSON] = dict.fromkeys(FULL)
    assert down.restore({**nothing, "count": 1}) == {"count": 1, "note": None}


def test_a_simple_object_has_no_reference_union_or_null() -> None:
    """Constructs that small endpoints cannot handle are gone."""
    down = downgrade_schema(SCHEMA, "simple_object")

    for part in parts(down.schema):
        assert not {"$ref", "anyOf", "oneOf", "allOf", "$defs"} & set(part)
        assert isinstance(part.get("type", ""), str | Mapping)
    assert down.schema["required"] == ["count"]
    assert down.restore({"count": 1}) == {"count": 1, "note": None}


def test_depth_is_flattened_into_dotted_keys() -> None:
    """Beyond the maximum depth, the keys of an object move into its parent."""
    inner: JSON = {"type": "object", "properties": {"z": {"type": "integer"}}, "required": ["z"]}
    middle: JSON = {"type": "object", "properties": {"y": inner}, "required": ["y"]}
    schema: dict[str, JSON] = {"type": "object", "properties": {"x": middle}, "required": ["x"]}

    down = downgrade_schema(schema, "simple_object", max_depth=0)

    assert down.schema == {
        "type": "object",
        "properties": {"x.y.z": {"type": "integer"}},
        "required": ["x.y.z"],
    }
    assert down.simplify({"x": {"y": {"z": 1}}}) == {"x.y.z": 1}
    assert down.restore({"x.y.z": 1}) == {"x": {"y": {"z": 1}}}
    assert down.restore({"x": {"y": {"z": 1}}}) == {"x": {"y": {"z": 1}}}


def test_a_declared_key_with_a_dot_is_not_taken_for_a_flattened_one() -> None:
    """Then the object is written as text."""
    inner: JSON = {"type": "object", "properties": {"b": {"type": "integer"}}}
    schema: dict[str, JSON] = {"properties": {"a": inner, "a.b": {"type": "integer"}}}
    down = downgrade_schema(schema, "simple_object", max_depth=0)
    arguments: dict[str, JSON] = {"a": {"b": 1}, "a.b": 2}

    assert down.restore(down.simplify(arguments)) == arguments


def test_string_only_makes_every_parameter_a_string() -> None:
    """Any type is written as text and restored to the type."""
    down = downgrade_schema(SCHEMA, "string_only")
    properties = down.schema["properties"]
    assert isinstance(properties, Mapping)

    assert {json.dumps(part["type"]) for part in parts(list(properties.values()))} == {'"string"'}
    assert down.restore({"count": "5", "note": "null", "either": "x", "labels": "{'a': 1}"}) == {
        "count": 5,
        "note": None,
        "either": "x",
        "labels": {"a": 1},
    }


def test_branches_of_a_union_of_objects_are_merged() -> None:
    """A tagged union becomes one object whose tag lists all tags."""
    schema: dict[str, JSON] = {
        "oneOf": [
            {
                "properties": {"kind": {"const": "a"}, "x": {"type": "integer"}},
                "required": ["kind"],
            },
            {"properties": {"kind": {"const": "b"}, "y": {"type": "string"}}, "required": ["kind"]},
        ]
    }
    down = downgrade_schema(schema, "simple_object")

    assert down.schema["properties"] == {
        "kind": {"type": "string", "enum": ["a", "b"]},
        "x": {"type": "integer"},
        "y": {"type": "string"},
    }
    assert down.schema["required"] == ["kind"]


def test_all_of_is_merged() -> None:
    """The parts become one object."""
    schema: dict[str, JSON] = {
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
            {"properties": {"b": {"type": "string"}}, "required": ["b"]},
        ]
    }

    assert downgrade_schema(schema, "simple_object").schema == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
        "required": ["a", "b"],
    }


@pytest.mark.parametrize("level", LEVELS)
def test_arguments_that_are_a_free_map_are_written_as_one_text(level: SchemaLevel) -> None:
    """The root must stay an object with known keys."""
    down = downgrade_schema({"type": "object", "additionalProperties": {"type": "integer"}}, level)

    assert down.simplify({"any": 1}) == {"json": '{"any": 1}'}
    assert down.restore({"json": '{"any": 1}'}) == {"any": 1}
    assert down.restore({"any": 1}) == {"any": 1}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"$ref": "#"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
        {"properties": {"a": {"$ref": "#"}, "b": {"$ref": "https://example.com/x"}}},
        {"properties": {"a": True, "b": False, "c": {}, "d": {"items": [{}, {}]}}},
        {"properties": [], "required": "a", "type": ["object", "null"]},
        {
            "properties": {"u": {"$ref": "#/$defs/0"}},
            "$defs": {
                str(n): {"anyOf": [{"$ref": f"#/$defs/{m}"} for m in range(12)]} for n in range(12)
            },
        },
        {"properties": {str(n): {"$ref": "#"} for n in range(60)}},
        {"anyOf": [{"type": "object"}] * 100},
        {"type": "string"},
    ],
)
def test_a_schema_of_any_kind_is_downgraded_in_bounded_work(
    schema: dict[str, JSON], level: SchemaLevel
) -> None:
    """Cycles, nested unions and nonsense give an object schema that compiles."""
    down = downgrade_schema(schema, level)

    assert down.schema["type"] == "object"
    assert SchemaChecker(down.schema).compiled
    assert len(json.dumps(down.schema)) < 5_000_000
    for value in ({}, {"a": None, "json": 1, "x.y": [1]}):
        assert isinstance(down.restore(value), Mapping)


SCALARS: st.SearchStrategy[Sample] = st.one_of(
    st.integers().map(lambda value: ({"type": "integer"}, value)),
    st.booleans().map(lambda value: ({"type": "boolean"}, value)),
    st.text().map(lambda value: ({"type": "string"}, value)),
    st.sampled_from(["1", "true", "null", "{}", "a"]).map(lambda one: ({"type": "string"}, one)),
    st.sampled_from(["a", 1, None]).map(lambda value: ({"enum": ["a", 1, None]}, value)),
    st.integers().map(lambda value: ({"const": value}, value)),
    st.just(({}, [1, {"any": None}])),
)


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Sample]) -> Sample:
    """An object schema and an instance of it, some optional keys absent."""
    fields = draw(st.dictionaries(st.sampled_from(["a", "b", "a.b", "c d"]), inner, max_size=3))
    required = [key for key in fields if draw(st.booleans())]
    present = [key for key in fields if key in required or draw(st.booleans())]
    schema: dict[str, JSON] = {
        "type": "object",
        "properties": {key: field[0] for key, field in fields.items()},
        "required": required,
    }
    if draw(st.booleans()):
        schema["additionalProperties"] = False
    return schema, {key: fields[key][1] for key in present}


@st.composite
def unions(draw: st.DrawFn, inner: st.SearchStrategy[Sample]) -> Sample:
    """A union and an instance of its first or last member."""
    schema, value = draw(inner)
    other = draw(inner)[0]
    members: list[JSON] = [schema, other] if draw(st.booleans()) else [other, schema]
    return {"anyOf": members}, value


def nested(inner: st.SearchStrategy[Sample]) -> st.SearchStrategy[Sample]:
    return st.one_of(
        objects(inner),
        unions(inner),
        inner.map(lambda one: ({"type": "array", "items": one[0]}, [one[1], one[1]])),
        inner.map(lambda one: ({"anyOf": [one[0], {"type": "null"}]}, one[1])),
        inner.map(lambda one: ({"allOf": [one[0]]}, one[1])),
        inner.map(
            lambda one: (
                {"type": "object", "additionalProperties": one[0]},
                {"k": one[1]},
            )
        ),
    )


@settings(max_examples=200)
@given(objects(st.recursive(SCALARS, nested, max_leaves=8)), st.sampled_from(LEVELS))
def test_a_simplified_instance_comes_back_valid(sample: Sample, level: SchemaLevel) -> None:
    """For any schema and instance, at every level, both directions validate."""
    schema, instance = sample
    assert isinstance(instance, dict)
    assert SchemaChecker(schema).misfit(instance) is None
    down = downgrade_schema(schema, level, max_depth=1)

    simple = down.simplify(instance)
    restored = down.restore(simple)

    assert SchemaChecker(down.schema).misfit(simple) is None
    assert SchemaChecker(schema).misfit(restored) is None
