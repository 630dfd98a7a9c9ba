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
    """Parse an arguments string strictly. Never raises, whatever the model wrote."""
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
    """Every violation of the schema, with its JSON path."""
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
    """The place of one schema violation."""

    message: str
    steps: tuple[str | int, ...]


class SchemaChecker:
    """A tool's schema, compiled to check many values.

    A tool without a schema, or with an empty one, accepts any object. So does a tool whose schema
    does not compile, because that is not the model's fault: `compiled` is False then.
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
        """The first schema violation of a value, or None."""
        return next(iter(self.misfits(value, limit=1)), None)

    def misfits(self, value: JSON, *, limit: int = MAX_FINDINGS) -> list[Misfit]:
        """The schema violations of a value, up to a limit."""
        if self._validator is None:
            return []
        # Far cheaper than collecting errors, and most values are valid.
        if _is_valid(self._validator, value):
            return []
        errors = islice(self._validator.iter_errors(_encodable(value)), limit)
        misfits = [Misfit(_shorten(error.message), tuple(error.instance_path)) for error in errors]
        return misfits or [Misfit("The value cannot be checked", ())]


def json_path(steps: Iterable[str | int]) -> str:
    """The steps as written after the `$` of a JSON path."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


def call_argument_text(call: ToolCall | BrokenCall) -> str:
    """The arguments as JSON text: the received text if it still matches the call's input."""
    if isinstance(call, BrokenCall):
        return call.raw
    # The raw form of a repaired call, or of a call from text, may not parse on the client.
    if not call.repairs and read_arguments(call.raw).value == call.input:
        return call.raw
    return json.dumps(call.input, ensure_ascii=False)


@lru_cache(maxsize=256)
def _compiled(schema: str) -> jsonschema_rs.Validator:
    # Offline: a schema must not trigger requests. RegexOptions selects the linear engine.
    return jsonschema_rs.validator_for(
        schema, offline=True, pattern_options=jsonschema_rs.RegexOptions()
    )


@lru_cache(maxsize=256)
def _compiled_for_any_pattern(schema: str) -> jsonschema_rs.Validator:
    try:
        return _compiled(schema)
    except ValueError:
        # Lookaround needs the other engine, with a limit, because the text comes from a model.
        return jsonschema_rs.validator_for(
            schema,
            offline=True,
            pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=MAX_BACKTRACKS),
        )


def _is_valid(validator: jsonschema_rs.Validator, value: JSON) -> bool:
    try:
        return validator.is_valid(value)
    except ValueError:
        # A lone surrogate. Removing it from every value up front would cost more than the check.
        return validator.is_valid(_encodable(value))


def _shorten(message: str) -> str:
    # The message starts with the value and ends with the requirement.
    if len(message) <= MAX_MESSAGE:
        return message
    half = MAX_MESSAGE // 2
    return f"{message[:half]} ... {message[-half:]}"


def _encodable(value: JSON) -> JSON:
    """The value without lone surrogates, which the validator does not accept."""
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
    """The JSON type of a value that is no object, in words."""
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
