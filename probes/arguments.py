from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import jsonschema_rs

from probes.findings import Finding, FindingKind
from probes.messages import JSON
from probes.redaction import without_surrogates
from probes.strict_json import parse

MAX_BYTES = 1024 * 1024
MAX_FINDINGS = 20


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a call: an object, or the sentence that says why there is none."""

    value: Mapping[str, JSON] | None
    error: str = ""
    duplicate_keys: tuple[str, ...] = ()


def read_arguments(text: str) -> Arguments:
    """Read an arguments string strictly. Never raises, whatever the model wrote."""
    # Vendors send "" for a tool without parameters.
    if text == "":
        return Arguments({})
    parsed = parse(text, max_bytes=MAX_BYTES)
    if parsed.error is not None:
        return Arguments(None, parsed.error)
    if not isinstance(parsed.value, Mapping):
        return Arguments(None, f"The arguments are {_kind(parsed.value)}, not an object.")
    return Arguments(parsed.value, duplicate_keys=parsed.duplicate_keys)


def validate(
    schema: Mapping[str, JSON], value: Mapping[str, JSON], *, at: str = "$"
) -> tuple[Finding, ...]:
    """Every way in which arguments break their schema, with the JSON path of each."""
    validator = _compiled(json.dumps(schema, sort_keys=True))
    errors = islice(validator.iter_errors(_encodable(value)), MAX_FINDINGS)
    return tuple(
        Finding(
            FindingKind.SCHEMA_MISMATCH,
            f"{error.message}.",
            at + _path(error.instance_path),
        )
        for error in errors
    )


@lru_cache(maxsize=256)
def _compiled(schema: str) -> jsonschema_rs.Validator:
    # Offline: a schema must not make us fetch anything. RegexOptions picks the linear engine.
    return jsonschema_rs.validator_for(
        schema, offline=True, pattern_options=jsonschema_rs.RegexOptions()
    )


def _encodable(value: JSON) -> JSON:
    """The value without lone surrogates, which the validator cannot take."""
    match value:
        case str():
            return without_surrogates(value)
        case Mapping():
            return {str(_encodable(key)): _encodable(item) for key, item in value.items()}
        case list():
            return [_encodable(item) for item in value]
        case _:
            return value


def _path(steps: Iterable[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


def _kind(value: JSON) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case _:
            return "an array"
