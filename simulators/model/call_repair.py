"""A call made anew after its result was an error, by what the error says."""

from __future__ import annotations

import re
from collections.abc import Mapping

from probes.messages import JSON, ToolCall, ToolResult, ToolSpec
from simulators.model.property_values import read_value_groups
from simulators.model.quotes import quoted_texts
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
    """Whether a result tells of an error, in a flag or in its text."""
    body = _body(result.content)
    if isinstance(body, Mapping):
        told = bool(body.get("is_error") or body.get("error") or body.get("error_code"))
        return result.is_error or told
    return result.is_error or _FAILED.match(result.content) is not None


def may_retry(result: ToolResult) -> bool:
    """Whether the error leaves hope."""
    return _fields(result.content).get("retryable") is not False


def repair_arguments(call: ToolCall, result: ToolResult, tool: ToolSpec) -> dict[str, JSON]:
    """The arguments for the next try; the same as before where the error names no remedy."""
    schema: Schema = tool.schema or {}
    rules = properties(schema, schema)
    error = _fields(result.content)
    message = " ".join(str(error.get(key) or "") for key in ("message", "error", "detail", "hint"))
    message = message.strip() or result.content
    # Whatever else was wrong, a model knows which arguments there are.
    arguments = {name: value for name, value in call.input.items() if name in rules or not rules}
    for key in ("arguments", "corrected", "correct_arguments", "retry_with"):
        given = error.get(key)
        if isinstance(given, Mapping) and set(given) <= set(rules):
            return {**arguments, **given}
    name = _place(error, message, rules, arguments)
    if name in arguments and name not in rules and _UNKNOWN.search(message):
        del arguments[name]
    elif name in rules:
        arguments[name] = _mended(name, arguments.get(name), error, message, schema)
    if arguments == dict(call.input) and (said := read_value_groups(message, schema)):
        arguments |= said[0]
    for missing in required(schema):
        if missing in rules and missing not in arguments:
            arguments[missing] = invent_value(rules[missing], schema)
    return arguments


def _fields(content: str) -> Mapping[str, JSON]:
    """The structured error, wherever in the result it stands."""
    body = _body(content)
    if not isinstance(body, Mapping):
        return {}
    for key in ("error", "output", "result"):
        inner = body.get(key)
        if isinstance(inner, str) and inner.lstrip().startswith("{"):
            inner = _body(inner)
        if isinstance(inner, Mapping):
            return {**body, **inner, key: ""}
    return body


def _body(content: str) -> JSON:
    begin = content.find("{")
    if begin < 0 or len(content[:begin].strip()) > 40:
        return None
    try:
        value: JSON = DECODER.raw_decode(content, begin)[0]
    except (ValueError, RecursionError):
        return None
    return value


def _place(
    error: Mapping[str, JSON], message: str, rules: Mapping[str, Schema], made: Mapping[str, JSON]
) -> str:
    """The argument that the error is about."""
    for key in ("path", "param", "field", "argument", "property", "loc"):
        words: list[str] = re.findall(r"[\w-]+", str(error.get(key) or ""))
        for word in reversed(words):
            if word in rules or word in made:
                return word
    said: list[str] = [*quoted_texts(message), *re.findall(r"[\w-]+", message)]
    found = [*(word for word in said if word in rules), *(word for word in said if word in made)]
    return found[0] if found else next(iter(rules)) if len(rules) == 1 else ""


def _mended(
    name: str, value: JSON, error: Mapping[str, JSON], message: str, schema: Schema
) -> JSON:
    """The value that the error asks for in its fields or its words."""
    rules = properties(schema, schema)[name]
    told = [error[key] for key in _HINTS if error.get(key) is not None and _is_value(error[key])]
    for key in _OPTIONS:
        options = error.get(key)
        told += options[:1] if isinstance(options, list) else []
    if instead := _INSTEAD.search(message):
        told.append(instead.group(1))
    elif one_of := _ONE_OF.search(message):
        told.append(re.split(r",|\bor\b", one_of.group(1))[0].strip(" '\"`."))
    if told:
        return convert_value(told[0], rules, schema) if isinstance(told[0], str) else told[0]
    if isinstance(value, str):
        return _mended_text(value, message, rules, schema)
    if value is None and _MISSING.search(message):
        return invent_value(rules, schema)
    return _bounded(value, message)


def _bounded(value: JSON, message: str) -> JSON:
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


def _mended_text(value: str, message: str, rules: Schema, schema: Schema) -> JSON:
    if told := _BEGINS.search(message):
        prefix = told.group(1)
        return value if value.startswith(prefix) else prefix + value
    if told := _ENDS.search(message):
        suffix = told.group(1)
        return value if value.endswith(suffix) else value + suffix
    if (most := _MOST.search(message)) and "character" in message:
        return value[: int(most.group(1))]
    return convert_value(value, rules, schema)
