"""Repairs a failed call from the error in its result."""

from __future__ import annotations

import re
from collections.abc import Mapping

from probes.messages import JSON, ToolCall, ToolResult, ToolSpec
from simulators.model.property_values import read_value_groups
from simulators.model.quotes import find_quoted_texts
from simulators.model.schema_values import (
    DECODER,
    Schema,
    convert_value,
    invent_value,
    properties,
    required,
)

_FAILED = re.compile(r"\s*(?:\[?error\b|.{0,40}\b(?:failed|exception)\b)", re.I)
_HINTS = ("suggestion", "expected", "correct_value", "use", "hint", "did_you_mean", "example")
_OPTIONS = ("allowed", "allowed_values", "options", "enum", "one_of", "valid_values")
_BEGINS = re.compile(r"\b(?:start|begin)s?\s+with\s+[\"'`]?([^\s\"'`.,]+)", re.I)
_ENDS = re.compile(r"\bends?\s+(?:with|in)\s+[\"'`]?([^\s\"'`,]*[^\s\"'`.,])", re.I)
_ONE_OF = re.compile(r"\bone of:?\s*[\[(]?([^\])\n]+)", re.I)
_INSTEAD = re.compile(
    r"(?:did you mean|use|try|expected|should be|must be)\s+[\"'`]([^\"'`]+)[\"'`]", re.I
)
_LEAST = re.compile(
    r"\b(?:at least|minimum(?: of)?|>=|greater than or equal to)\s*(-?\d{1,15})", re.I
)
_MOST = re.compile(r"\b(?:at most|maximum(?: of)?|<=|less than or equal to)\s*(-?\d{1,15})", re.I)
_MISSING = re.compile(r"\b(?:missing|required)\b", re.I)
_UNKNOWN = re.compile(r"\b(?:unknown|unexpected|additional|not allowed)\b", re.I)


def is_failure(result: ToolResult) -> bool:
    """Whether a result reports an error, in a flag or in its text."""
    body = _parse_object(result.content)
    if isinstance(body, Mapping):
        has_error_field = bool(body.get("is_error") or body.get("error") or body.get("error_code"))
        return result.is_error or has_error_field
    return result.is_error or _FAILED.match(result.content) is not None


def may_retry(result: ToolResult) -> bool:
    """Whether the error allows a retry."""
    return _error_fields(result.content).get("retryable") is not False


def repair_arguments(call: ToolCall, result: ToolResult, tool: ToolSpec) -> dict[str, JSON]:
    """The arguments for the next try; unchanged if the error suggests no correction."""
    schema: Schema = tool.schema or {}
    rules = properties(schema, schema)
    error = _error_fields(result.content)
    message = " ".join(str(error.get(key) or "") for key in ("message", "error", "detail", "hint"))
    message = message.strip() or result.content
    # The model knows the declared arguments, whatever else was wrong.
    arguments = {name: value for name, value in call.input.items() if name in rules or not rules}
    for key in ("arguments", "corrected", "correct_arguments", "retry_with"):
        corrected = error.get(key)
        if isinstance(corrected, Mapping) and set(corrected) <= set(rules):
            return {**arguments, **corrected}
    name = _find_argument(error, message, rules, arguments)
    if name in arguments and name not in rules and _UNKNOWN.search(message):
        del arguments[name]
    elif name in rules:
        arguments[name] = _repair_value(name, arguments.get(name), error, message, schema)
    if arguments == dict(call.input) and (groups := read_value_groups(message, schema)):
        arguments |= groups[0]
    for missing in required(schema):
        if missing in rules and missing not in arguments:
            arguments[missing] = invent_value(rules[missing], schema)
    return arguments


def _error_fields(content: str) -> Mapping[str, JSON]:
    """The structured error, at any level of the result."""
    body = _parse_object(content)
    if not isinstance(body, Mapping):
        return {}
    for key in ("error", "output", "result"):
        inner = body.get(key)
        if isinstance(inner, str) and inner.lstrip().startswith("{"):
            inner = _parse_object(inner)
        if isinstance(inner, Mapping):
            return {**body, **inner, key: ""}
    return body


def _parse_object(content: str) -> JSON:
    begin = content.find("{")
    if begin < 0 or len(content[:begin].strip()) > 40:
        return None
    try:
        value: JSON = DECODER.raw_decode(content, begin)[0]
    except (ValueError, RecursionError):
        return None
    return value


def _find_argument(
    error: Mapping[str, JSON],
    message: str,
    rules: Mapping[str, Schema],
    arguments: Mapping[str, JSON],
) -> str:
    """The argument that the error is about."""
    for key in ("path", "param", "field", "argument", "property", "loc"):
        words: list[str] = re.findall(r"[\w-]+", str(error.get(key) or ""))
        for word in reversed(words):
            if word in rules or word in arguments:
                return word
    candidates: list[str] = [*find_quoted_texts(message), *re.findall(r"[\w-]+", message)]
    names = [
        *(word for word in candidates if word in rules),
        *(word for word in candidates if word in arguments),
    ]
    return names[0] if names else next(iter(rules)) if len(rules) == 1 else ""


def _repair_value(
    name: str, value: JSON, error: Mapping[str, JSON], message: str, schema: Schema
) -> JSON:
    """The value that the error requires, in its fields or its message."""
    rules = properties(schema, schema)[name]
    hints = [error[key] for key in _HINTS if error.get(key) is not None and _is_value(error[key])]
    for key in _OPTIONS:
        options = error.get(key)
        hints += options[:1] if isinstance(options, list) else []
    if instead := _INSTEAD.search(message):
        hints.append(instead.group(1))
    elif one_of := _ONE_OF.search(message):
        hints.append(re.split(r",|\bor\b", one_of.group(1))[0].strip(" '\"`."))
    if hints:
        return convert_value(hints[0], rules, schema) if isinstance(hints[0], str) else hints[0]
    if isinstance(value, str):
        return _repair_text(value, message, rules, schema)
    if value is None and _MISSING.search(message):
        return invent_value(rules, schema)
    return _clamp(value, message)


def _clamp(value: JSON, message: str) -> JSON:
    if not isinstance(value, int | float):
        return value
    if least := _LEAST.search(message):
        return max(value, int(least.group(1)))
    if most := _MOST.search(message):
        return min(value, int(most.group(1)))
    return value


def _is_value(hint: JSON) -> bool:
    """Whether a hint is a value to use and not a sentence about it."""
    return not isinstance(hint, str) or len(hint.split()) < 4


def _repair_text(value: str, message: str, rules: Schema, schema: Schema) -> JSON:
    if match := _BEGINS.search(message):
        prefix = match.group(1)
        return value if value.startswith(prefix) else prefix + value
    if match := _ENDS.search(message):
        suffix = match.group(1)
        return value if value.endswith(suffix) else value + suffix
    if (most := _MOST.search(message)) and "character" in message:
        return value[: int(most.group(1))]
    return convert_value(value, rules, schema)
