"""Calls that arrive with other arguments than requested."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count

from probes.call_arguments import SchemaChecker
from probes.messages import JSON, Role, ToolCall
from probes.outcomes import Metric
from simulators.faults.calls import argument_strings, damaged_values, markup_arguments
from simulators.faults.calls.call_changes import CallChange, Schema, tool_schema, with_input
from simulators.faults.effects import READER_DECIDES
from simulators.faults.fault import Effect, Fault
from simulators.faults.text.tag_writers import as_text
from simulators.model.schema_values import alternatives, properties, required
from simulators.vendors.spec import VendorRequest

UNLISTED = "unlisted"
WRAPPERS = ("arguments", "input")
FIRST_EMPTY_ANSWER = 3


def _use_unlisted_option(call: ToolCall, request: VendorRequest) -> ToolCall:
    schema = tool_schema(call, request)
    rules = properties(schema, schema)
    wrong = {name for name in call.input if name in rules and _is_enum(rules[name], schema)}
    changed = {name: UNLISTED if name in wrong else value for name, value in call.input.items()}
    return with_input(call, _ensure_invalid(changed, schema))


def _change_type(call: ToolCall, request: VendorRequest) -> ToolCall:
    schema = tool_schema(call, request)
    checker = SchemaChecker(schema)
    candidates = ({**call.input, name: other} for name, other in _other_types(call.input))
    changed = next((candidate for candidate in candidates if checker.misfit(candidate)), call.input)
    return with_input(call, _ensure_invalid(changed, schema))


def _drop_required(call: ToolCall, request: VendorRequest) -> ToolCall:
    schema = tool_schema(call, request)
    missing = next((name for name in required(schema) if name in call.input), None)
    changed = {name: value for name, value in call.input.items() if name != missing}
    return with_input(call, _ensure_invalid(changed, schema))


def _add_argument(call: ToolCall, request: VendorRequest) -> ToolCall:
    return with_input(call, _with_extra(call.input, tool_schema(call, request)))


def _wrap_arguments(call: ToolCall, request: VendorRequest) -> ToolCall:
    schema = tool_schema(call, request)
    key = next(name for name in WRAPPERS if name not in properties(schema, schema))
    return with_input(call, {key: as_text(call.input)})


def _stringify_nested(call: ToolCall, request: VendorRequest) -> ToolCall:
    nested = {
        name: as_text(value) if isinstance(value, Mapping | list) else value
        for name, value in call.input.items()
    }
    return with_input(call, nested)


def _stringify_all(call: ToolCall, request: VendorRequest) -> ToolCall:
    return with_input(call, {name: as_text(value) for name, value in call.input.items()})


def _clear_arguments(call: ToolCall, request: VendorRequest) -> ToolCall:
    return with_input(call, {})


def _clear_later_arguments(value: float | None) -> CallChange:
    first = FIRST_EMPTY_ANSWER if value is None else value

    def change(call: ToolCall, request: VendorRequest) -> ToolCall:
        answers = sum(turn.role is Role.ASSISTANT for turn in request.call.turns)
        return with_input(call, {}) if answers + 1 >= first else call

    return CallChange(change)


def _is_enum(rule: Schema, root: Schema) -> bool:
    return any("enum" in option for option in alternatives(rule, root))


def _other_types(values: Mapping[str, JSON]) -> Iterator[tuple[str, JSON]]:
    """Each argument as a value of another type, the most likely mistake first."""
    for name, value in values.items():
        yield name, 7 if isinstance(value, str) else as_text(value)
        yield name, [value]
        yield name, {"value": value}


def _ensure_invalid(values: Mapping[str, JSON], schema: Schema) -> Mapping[str, JSON]:
    """The values, with an undeclared one added if they are still valid."""
    return values if SchemaChecker(schema).misfit(values) else _with_extra(values, schema)


def _with_extra(values: Mapping[str, JSON], schema: Schema) -> Mapping[str, JSON]:
    known = properties(schema, schema)
    names = (f"note_{number}" if number else "note" for number in count())
    return {**values, next(name for name in names if name not in known): "as asked"}


# Every call of every tool is wrong, so the model follows no kind of schema.
_WRONG = markup_arguments.WRONG
FAULTS = (
    Fault(
        "wrong-enum",
        "",
        "a value that its enumeration does not list",
        lambda value: CallChange(_use_unlisted_option),
        effect=_WRONG,
    ),
    Fault(
        "wrong-value-type",
        "",
        "a value of another type than its schema's",
        lambda value: CallChange(_change_type),
        effect=replace(_WRONG, in_text=READER_DECIDES),
    ),
    Fault(
        "missing-required",
        "",
        "a required argument is left out",
        lambda value: CallChange(_drop_required),
        effect=_WRONG,
    ),
    Fault(
        "extra-argument",
        "",
        "an argument that the schema does not declare",
        lambda value: CallChange(_add_argument),
        effect=_WRONG,
    ),
    Fault(
        "wrapped",
        "Z58",
        "all arguments in one, named arguments, as a string",
        lambda value: CallChange(_wrap_arguments),
        effect=_WRONG,
    ),
    Fault(
        "nested-as-string",
        "Z50",
        "objects and arrays among the arguments arrive as JSON strings",
        lambda value: CallChange(_stringify_nested),
        # A union may allow the string.
        effect=Effect(
            {Metric.SCHEMA_FAILURE: None, Metric.VALUE_FIDELITY: None},
            {"schema_level": "simple_object"},
            in_text=READER_DECIDES,
        ),
    ),
    Fault(
        "strings-only",
        "",
        "every argument arrives as a string",
        lambda value: CallChange(_stringify_all),
        effect=Effect(
            {Metric.SCHEMA_FAILURE: None, Metric.VALUE_FIDELITY: None},
            {"schema_level": "string_only"},
            in_text=READER_DECIDES,
        ),
    ),
    Fault(
        "empty-arguments",
        "",
        "every call has the arguments {}",
        lambda value: CallChange(_clear_arguments),
        effect=Effect(
            {
                Metric.SCHEMA_FAILURE: None,
                Metric.REPAIR_SUCCESS: 1,
                # Only a tool without required arguments accepts it.
                Metric.VALUE_FIDELITY: None,
            },
            {
                "schema_level": "none",
                "error_repair": "none",
                "result_role": "unknown",
                "image_result": "unknown",
            },
        ),
    ),
    Fault(
        "empty-arguments-later",
        "Z63",
        "calls have the arguments {} from the third answer of a conversation on",
        _clear_later_arguments,
        effect=Effect({Metric.SCHEMA_FAILURE: None, Metric.VALUE_FIDELITY: None}),
        value="the number of the answer from which on",
    ),
    *argument_strings.FAULTS,
    *markup_arguments.FAULTS,
    *damaged_values.FAULTS,
)
