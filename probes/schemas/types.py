"""The JSON types that a schema admits at a place. A hint for reading text; validation decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from probes.messages import JSON

MAX_STEPS = 200
UNIONS = ("anyOf", "oneOf", "allOf")
_TYPE_NAMES: Mapping[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
}


def types_of(schema: JSON, root: Mapping[str, JSON]) -> frozenset[str]:
    """The types that a schema names: by `type`, `enum`, `const`, unions and local references."""
    types: set[str] = set()
    for part in alternatives(schema, root):
        match part.get("type"):
            case str(name):
                types.add(name)
            case list(names):
                types.update(name for name in names if isinstance(name, str))
            case _:
                pass
        values = part.get("enum")
        constants = list(values) if isinstance(values, list) else []
        if "const" in part:
            constants.append(part["const"])
        types.update(type_name(value) for value in constants)
    return frozenset(types)


def properties_at(schema: JSON, root: Mapping[str, JSON], key: str) -> list[JSON]:
    """The schemas for a key of an object; none if the key is not declared."""
    schemas: list[JSON] = []
    open_schemas: list[JSON] = []
    for part in alternatives(schema, root):
        properties = part.get("properties")
        if isinstance(properties, Mapping) and key in properties:
            schemas.append(properties[key])
        if isinstance(part.get("additionalProperties"), Mapping):
            open_schemas.append(part["additionalProperties"])
    return schemas or open_schemas


def declared_keys(schema: JSON, root: Mapping[str, JSON]) -> frozenset[str]:
    """Every key that the schema declares for an object."""
    keys: set[str] = set()
    for part in alternatives(schema, root):
        properties = part.get("properties")
        if isinstance(properties, Mapping):
            keys.update(properties)
    return frozenset(keys)


def alternatives(schema: JSON, root: Mapping[str, JSON]) -> Iterator[Mapping[str, JSON]]:
    """The schema and everything that it is composed of at the same place, within limits."""
    waiting: list[JSON] = [schema]
    seen: set[int] = set()
    while waiting and len(seen) < MAX_STEPS:
        part = waiting.pop()
        if not isinstance(part, Mapping) or id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        for union in UNIONS:
            members = part.get(union)
            waiting.extend(members if isinstance(members, list) else ())
        if isinstance(ref := part.get("$ref"), str):
            waiting.append(resolve_ref(ref, root))


def resolve_ref(ref: str, root: Mapping[str, JSON]) -> JSON:
    """The target of a reference inside the same schema; None for any other."""
    if ref == "#":
        return root
    if not ref.startswith("#/"):
        return None
    target: JSON = root
    for step in ref[2:].split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        match target:
            case Mapping() if key in target:
                target = target[key]
            case list() if key.isdecimal() and int(key) < len(target):
                target = target[int(key)]
            case _:
                return None
    return target


def type_name(value: JSON) -> str:
    """The JSON Schema type of a value."""
    if isinstance(value, Mapping):
        return "object"
    return _TYPE_NAMES.get(type(value), "array")
