"""Calls in which an engine's parser left markup, or lost the text after it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count

from typing_extensions import override

from probes.messages import JSON, Reply, Stop, ToolCall
from probes.outcomes import Metric
from simulators.faults.calls.call_changes import CallChange, tool_schema, with_input
from simulators.faults.calls.damaged_values import DAMAGED, change_strings
from simulators.faults.effects import ONE_CALL, READER_DECIDES
from simulators.faults.fault import Effect, Fault
from simulators.faults.text.leak import without_calls
from simulators.faults.text.tag_writers import as_text, qwen_xml
from simulators.model.schema_values import properties
from simulators.vendors.hooks import FaultHooks
from simulators.vendors.spec import VendorRequest

WRONG = Effect(
    {Metric.SCHEMA_FAILURE: 1, Metric.REPAIR_SUCCESS: 1},
    {"schema_level": "none", "error_repair": "none"},
)
MISNAMED = Effect(
    WRONG.metrics,
    {**WRONG.fields, **ONE_CALL, "tool_choice": ["auto", "none", "required"]},
    in_text=READER_DECIDES,
)
_CLOSE = re.compile(r"</(?:parameter|tool_call)>")


@dataclass(frozen=True, slots=True)
class CallListChange(FaultHooks):
    """Replaces the calls of an answer; without any left, the answer ends normally."""

    change: Callable[[tuple[ToolCall, ...], VendorRequest], tuple[ToolCall, ...]]

    @override
    def reply(self, reply: Reply, request: VendorRequest, rng: random.Random) -> Reply:
        if not reply.calls:
            return reply
        calls = self.change(reply.calls, request)
        stop = reply.stop if calls else Stop.END
        return replace(reply, parts=(*without_calls(reply.parts), *calls), stop=stop)


def _swallow_next_calls(
    calls: tuple[ToolCall, ...], request: VendorRequest
) -> tuple[ToolCall, ...]:
    first, *later = calls
    if not later or not first.input:
        return calls
    key, value = next(iter(first.input.items()))
    # The value continues past the end of its call into the following calls.
    swallowed = f"{as_text(value)}</parameter>\n</function>\n</tool_call>\n{qwen_xml(later)}"
    return (with_input(first, {**first.input, key: swallowed}),)


def _drop_calls_without_arguments(
    calls: tuple[ToolCall, ...], request: VendorRequest
) -> tuple[ToolCall, ...]:
    def takes_arguments(call: ToolCall) -> bool:
        schema = tool_schema(call, request)
        return bool(properties(schema, schema))

    return tuple(call for call in calls if takes_arguments(call))


def _cut_at_tag(text: str) -> str:
    return _CLOSE.split(text, maxsplit=1)[0]


def _cut_call_at_tag(call: ToolCall, request: VendorRequest) -> ToolCall:
    cut = {name: change_strings(value, _cut_at_tag) for name, value in call.input.items()}
    return with_input(call, cut)


def _add_tag_fragments(call: ToolCall, request: VendorRequest) -> ToolCall:
    fragmented: dict[str, JSON] = {
        f"{name}<arg_key": f"{value}</arg_value>" if isinstance(value, str) else value
        for name, value in call.input.items()
    }
    return with_input(call, fragmented or {"<arg_key": "</arg_value>"})


def _append_to_name(suffix: str) -> CallChange:
    return CallChange(lambda call, request: replace(call, name=f"{call.name}{suffix}"))


def _rename_to_unknown(call: ToolCall, request: VendorRequest) -> ToolCall:
    known = {tool.name for tool in request.call.tools}
    names = (f"{call.name}_v{number}" for number in count(2))
    return replace(call, name=next(name for name in names if name not in known))


FAULTS = (
    Fault(
        "cut-at-tag",
        "Z27",
        "strings end at the first </parameter> or </tool_call> in them",
        lambda value: CallChange(_cut_call_at_tag),
        effect=DAMAGED,
    ),
    Fault(
        "next-call-inside",
        "Z28",
        "of several calls only the first, whose first argument holds the raw XML of the others",
        lambda value: CallListChange(_swallow_next_calls),
        effect=Effect(
            {
                Metric.PARALLEL_DOWNGRADE: 1,
                Metric.SCHEMA_FAILURE: None,
                Metric.VALUE_FIDELITY: None,
            },
            ONE_CALL,
            in_text=READER_DECIDES,
        ),
    ),
    Fault(
        "polluted-name",
        "Z31",
        "tool names end in </arg_value>",
        lambda value: _append_to_name("</arg_value>"),
        effect=MISNAMED,
    ),
    Fault(
        "glued-name",
        "",
        "tool names end in a glued json",
        lambda value: _append_to_name("json"),
        effect=MISNAMED,
    ),
    Fault(
        "channel-in-name",
        "",
        "tool names end in <|channel|>commentary",
        lambda value: _append_to_name("<|channel|>commentary"),
        effect=MISNAMED,
    ),
    Fault(
        "unknown-tool",
        "",
        "calls of a tool that was not offered",
        lambda value: CallChange(_rename_to_unknown),
        effect=MISNAMED,
    ),
    Fault(
        "fragments",
        "Z35",
        "argument names and texts with fragments of <arg_key> and </arg_value>",
        lambda value: CallChange(_add_tag_fragments),
        effect=replace(WRONG, in_text=READER_DECIDES),
    ),
    Fault(
        "no-argument-lost",
        "Z32",
        "calls of tools without arguments do not arrive",
        lambda value: CallListChange(_drop_calls_without_arguments),
        effect=Effect({Metric.PARSE_SUCCESS: None}, bare_reasoning=None),
    ),
)
