from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import jsonschema_rs

from probes.findings import Finding, FindingKind
from probes.messages import JSON, BrokenCall, ToolCall
from probes.redaction import without_surrogates
from probes.strict_json import parse_json

MAX_BYTES = 1024 * 1024
MAX_FINDINGS = 20
MAX_MESSAGE = 500
MAX_BACKTRACKS = 10_000


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
    parsed = parse_json(text, max_bytes=MAX_BYTES)
    if parsed.error is not None:
        return Arguments(None, parsed.error)
    if not isinstance(parsed.value, Mapping):
        return Arguments(None, f"The arguments are {describe_type(parsed.value)}, not an object.")
    return Arguments(parsed.value, duplicate_keys=parsed.duplicate_keys)


def validate_arguments(
    schema: Mapping[str, JSON], value: Mapping[str, JSON], *, at: str = "$"
) -> tuple[Finding, ...]:
    """Every way in which arguments break their schema, with the JSON path of each."""
    validator = _compiled(json.dumps(schema, sort_keys=True))
    errors = islice(validator.iter_errors(_encodable(value)), MAX_FINDINGS)
    return tuple(
        Finding(
            FindingKind.SCHEMA_MISMATCH,
            f"{error.message}.",
            at + json_path(error.instance_path),
        )
        for error in errors
    )


@dataclass(frozen=True, slots=True)
class Misfit:
    """The first place where a value breaks its schema."""

    message: str
    steps: tuple[str | int, ...]


class SchemaChecker:
    """A tool's schema, ready to check many values.

    A tool without a schema, or with the empty one, takes any object. So does a tool whose schema
    does not compile, for the model cannot be blamed for it: `compiled` is False then.
    """

    def __init__(self, schema: Mapping[str, JSON] | None) -> None:
        self.schema: Mapping[str, JSON] = schema or {}
        self.compiled = True
        self._validator: jsonschema_rs.Validator | None = None
        if not self.schema:
            return
        try:
            self._validator = _compiled_for_any_pattern(json.dumps(schema, sort_keys=True))
        except (ValueError, TypeError, RecursionError):
            self.compiled = False

    def misfit(self, value: JSON) -> Misfit | None:
        """What is wrong with a value first of all, or None where nothing is."""
        return next(iter(self.misfits(value, limit=1)), None)

    def misfits(self, value: JSON, *, limit: int = MAX_FINDINGS) -> list[Misfit]:
        """What is wrong with a value, within a limit."""
        if self._validator is None:
            return []
        # Far cheaper than an error, and most values are right.
        if _is_valid(self._validator, value):
            return []
        errors = islice(self._validator.iter_errors(_encodable(value)), limit)
        misfits = [Misfit(_shorten(error.message), tuple(error.instance_path)) for error in errors]
        return misfits or [Misfit("The value cannot be checked", ())]


def json_path(steps: Iterable[str | int]) -> str:
    """The steps as they are written behind the `$` of a JSON path."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


def call_argument_text(call: ToolCall | BrokenCall) -> str:
    """The arguments as JSON text: the received text where it still matches the call's input."""
    if isinstance(call, BrokenCall):
        return call.raw
    # A call that was repaired, or found in text, has a raw form that no client can parse.
    if not call.repairs and read_arguments(call.raw).value == call.input:
        return call.raw
    return json.dumps(call.input, ensure_ascii=False)


@lru_cache(maxsize=256)
def _compiled(schema: str) -> jsonschema_rs.Validator:
    # Offline: a schema must not make us fetch anything. RegexOptions picks the linear engine.
    return jsonschema_rs.validator_for(
        schema, offline=True, pattern_options=jsonschema_rs.RegexOptions()
    )


@lru_cache(maxsize=256)
def _compiled_for_any_pattern(schema: str) -> jsonschema_rs.Validator:
    try:
        return _compiled(schema)
    except ValueError:
        # Lookaround needs the other engine; a bounded one, for the text comes from a model.
        return jsonschema_rs.validator_for(
            schema,
            offline=True,
            pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=MAX_BACKTRACKS),
        )


def _is_valid(validator: jsonschema_rs.Validator, value: JSON) -> bool:
    try:
        return validator.is_valid(value)
    except ValueError:
        # A lone surrogate; copying every value to be rid of one would cost more than checking it.
        return validator.is_valid(_encodable(value))


def _shorten(message: str) -> str:
    # The message quotes the value first and says what was wanted last.
    if len(message) <= MAX_MESSAGE:
        return message
    half = MAX_MESSAGE // 2
    return f"{message[:half]} ... {message[-half:]}"


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


def describe_type(value: JSON) -> str:
    """What a value that is no object is, in words."""
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
