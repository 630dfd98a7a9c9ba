"""Calls that arrive, and whose arguments are not those that were asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count

from probes.call_arguments import SchemaChecker
from probes.messages import JSON, Role, ToolCall
from probes.outcomes import Metric
from simulators.faults.calls import argument_strings, markup_arguments
from simulators.faults.calls.call_changes import CallChange, Schema, tool_schema, with_input
from simulators.faults.fault import Effect, Fault
from simulators.faults.text.tag_writers import plain
from simulators.model.schema_values import alternatives, properties, required
from simulators.vendors.spec import VendorRequest

UNLISTED = "unlisted"
WRAPPERS = ("arguments", "input")
LATER = 3


def _wrong_enum(call: ToolCall, request: VendorRequest) -> ToolCall:
    schema = tool_schema(call, request)
    rules = properties(schema, schema)
    wrong = {name for name in call.input if name in rules and _is_enum(rules[name], schema)}
    changed = {name: UNLISTED if name in wrong else value for name, value in call.input.items()}
    return with_input(call, _surely_wrong(changed, schema))


def _wrong_type(call: ToolCall, request: VendorRequest) -> ToolCall:
    schema = tool_schema(call, request)
    checker = SchemaChecker(schema)
    tries = ({**call.input, name: other} for name, other in _other_types(call.input))
    changed = next((tried for tried in tries if checker.misfit(tried)), call.input)
    return with_input(call, _surely_wrong(changed, schema))


def _missing_required(call: ToolCall, request: VendorRequest) -> ToolCall:
    schema = tool_schema(call, request)
    missing = next((name for name in required(schema) if name in call.input), None)
    changed = {name: value for name, value in call.input.items() if name != missing}
    return with_input(call, _surely_wrong(changed, schema))


def _extra_argument(call: ToolCall, request: VendorRequest) -> ToolCall:
    return with_input(call, _with_extra(call.input, tool_schema(call, request)))


def _wrapped(call: ToolCall, request: VendorRequest) -> ToolCall:
    schema = tool_schema(call, request)
    key = next(name for name in WRAPPERS if name not in properties(schema, schema))
    return with_input(call, {key: plain(call.input)})


def _nested_as_string(call: ToolCall, request: VendorRequest) -> ToolCall:
    nested = {
        name: plain(value) if isinstance(value, Mapping | list) else value
        for name, value in call.input.items()
    }
    return with_input(call, nested)


def _strings_only(call: ToolCall, request: VendorRequest) -> ToolCall:
    return with_input(call, {name: plain(value) for name, value in call.input.items()})


def _empty(call: ToolCall, request: VendorRequest) -> ToolCall:
    return with_input(call, {})


def _empty_later(value: float | None) -> CallChange:
    first = LATER if value is None else value

    def change(call: ToolCall, request: VendorRequest) -> ToolCall:
        said = sum(turn.role is Role.ASSISTANT for turn in request.call.turns)
        return with_input(call, {}) if said + 1 >= first else call

    return CallChange(change)


def _is_enum(rule: Schema, root: Schema) -> bool:
    return any("enum" in option for option in alternatives(rule, root))


def _other_types(values: Mapping[str, JSON]) -> Iterator[tuple[str, JSON]]:
    """Each argument as a value of other types, the likeliest mistake first."""
    for name, value in values.items():
        yield name, 7 if isinstance(value, str) else plain(value)
        yield name, [value]
        yield name, {"value": value}


def _surely_wrong(values: Mapping[str, JSON], schema: Schema) -> Mapping[str, JSON]:
    """The values, with one that nobody declared where they are not wrong without."""
    return values if SchemaChecker(schema).misfit(values) else _with_extra(values, schema)


def _with_extra(values: Mapping[str, JSON], schema: Schema) -> Mapping[str, JSON]:
    known = properties(schema, schema)
    names = (f"note_{number}" if number else "note" for number in count())
    return {**values, next(name for name in names if name not in known): "as asked"}


# Every call of every tool is wrong, so no kind of schema is kept to.
_WRONG = markup_arguments.WRONG
FAULTS = (
    Fault(
        "wrong-enum",
        "",
        "a value that its enumeration does not list",
        lambda value: CallChange(_wrong_enum),
        effect=_WRONG,
    ),
    Fault(
        "wrong-value-type",
        "",
        "a value of another type than its schema's",
        lambda value: CallChange(_wrong_type),
        effect=_WRONG,
    ),
    Fault(
        "missing-required",
        "",
        "a required argument is left out",
        lambda value: CallChange(_missing_required),
        effect=_WRONG,
    ),
    Fault(
        "extra-argument",
        "",
        "an argument that the schema does not declare",
        lambda value: CallChange(_extra_argument),
        effect=_WRONG,
    ),
    Fault(
        "wrapped",
        "Z58",
        "all arguments in one, named arguments, as a string",
        lambda value: CallChange(_wrapped),
        effect=_WRONG,
    ),
    Fault(
        "nested-as-string",
        "Z50",
        "objects and arrays among the arguments arrive as JSON strings",
        lambda value: CallChange(_nested_as_string),
        effect=Effect({Metric.SCHEMA_FAILURE: None}, {"schema_level": "simple_object"}),
    ),
    Fault(
        "strings-only",
        "",
        "every argument arrives as a string",
        lambda value: CallChange(_strings_only),
        effect=Effect({Metric.SCHEMA_FAILURE: None}, {"schema_level": "string_only"}),
    ),
    Fault(
        "empty-arguments",
        "",
        "every call has the arguments {}",
        lambda value: CallChange(_empty),
        effect=Effect(
            {Metric.SCHEMA_FAILURE: None, Metric.REPAIR_SUCCESS: 1},
            {"schema_level": "none", "error_repair": "none"},
        ),
    ),
    Fault(
        "empty-arguments-later",
        "Z63",
        "calls have the arguments {} from the third answer of a conversation on",
        _empty_later,
        effect=Effect({Metric.SCHEMA_FAILURE: None}),
        value="the number of the answer from which on",
    ),
    *argument_strings.FAULTS,
    *markup_arguments.FAULTS,
)
