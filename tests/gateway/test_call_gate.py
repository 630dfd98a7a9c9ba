from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gateway.call_gate import CallGate
from gateway.plan import Plan
from gateway.simple_schemas import schemas_at_level
from health.modes import Mode
from probes.events import Event, PartDelta, PartEnded, PartKind, PartStarted, ReplyEnded
from probes.messages import (
    REQUIRED,
    BrokenCall,
    ModelCall,
    Part,
    Reply,
    Stop,
    Text,
    ToolCall,
    ToolChoice,
    ToolSpec,
)
from probes.streams.assembler import reply_events
from tests.gateway.policies import plan_at

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
    "required": ["path"],
}
TOOLS = (ToolSpec("Read", "", SCHEMA), ToolSpec("Bash", "", SCHEMA))


def call(name: str = "Read", id: str = "1", **arguments: Any) -> ToolCall:
    given = arguments or {"path": "a"}
    return ToolCall(id, name, given, "openai", json.dumps(given))


def through(parts: list[Part], plan: Plan | None = None, **more: Any) -> tuple[CallGate, Reply]:
    gate = CallGate(plan or plan_at(), TOOLS, **more)
    stop = Stop.TOOL_CALLS if any(isinstance(part, ToolCall) for part in parts) else Stop.END
    events = gate.pass_events(reply_events(Reply(tuple(parts), stop)))
    assert_numbered(events)
    assert isinstance(events[-1], ReplyEnded)
    return gate, events[-1].reply


def assert_numbered(events: list[Event]) -> None:
    """Parts start, grow and end in the order and under the numbers of the reply."""
    started = [event.index for event in events if isinstance(event, PartStarted)]
    assert started == list(range(len(started)))
    end = events[-1]
    assert isinstance(end, ReplyEnded)
    ended = {event.index: event.part for event in events if isinstance(event, PartEnded)}
    assert tuple(ended[index] for index in started) == end.reply.parts


def test_valid_calls_pass_as_they_came() -> None:
    gate, reply = through([Text("Look."), call(), call("Bash", "2", path="b", lines=3)])

    assert reply.parts == (Text("Look."), call(), call("Bash", "2", path="b", lines=3))
    assert reply.stop is Stop.TOOL_CALLS
    assert (gate.blocked, gate.surplus, gate.repaired) == ([], 0, 0)


def test_text_passes_before_the_reply_ends_and_a_call_only_whole() -> None:
    """Nothing of a call is seen before its last argument."""
    gate = CallGate(plan_at(), TOOLS)
    begun = gate.pass_events(
        [
            PartStarted(0, PartKind.TEXT),
            PartDelta(0, "Lo"),
            PartStarted(1, PartKind.CALL, "1", "Read"),
            PartDelta(1, '{"path": '),
        ]
    )

    assert begun == [PartStarted(0, PartKind.TEXT), PartDelta(0, "Lo")]
    ended = gate.pass_events([PartEnded(1, call())])
    assert [type(event) for event in ended] == [PartStarted, PartDelta, PartEnded]


@pytest.mark.parametrize(
    "bad",
    [
        call(lines="three"),
        call(path=3),
        call("Write"),
        BrokenCall('{"path": ', "cut", name="Read", id="1"),
    ],
    ids=["missing", "type", "unknown tool", "broken"],
)
def test_an_invalid_call_ends_the_reply_with_an_error(bad: ToolCall | BrokenCall) -> None:
    """Never with a finish reason, and never with the call."""
    gate, reply = through([Text("Look."), bad])

    assert reply.parts == (Text("Look."),)
    assert reply.stop is Stop.ERROR
    assert len(gate.blocked) == 1
    assert gate.failure


def test_a_call_that_the_policy_does_not_allow_becomes_a_sentence() -> None:
    """The person reads what was blocked and why; the client does not retry."""
    gate, reply = through([call("Bash")], plan_at("read_only"))

    assert [each.kind for each in gate.blocked] == ["not_allowed"]
    assert reply.stop is Stop.END
    assert "Bash was blocked" in (reply.text or "")
    assert "read_only" in (reply.text or "")


def test_surplus_calls_of_a_turn_are_left_out() -> None:
    gate, reply = through([call(), call(id="2")], plan_at("full", Mode.NO_PARALLEL))

    assert [each.id for each in reply.calls] == ["1"]
    assert gate.surplus == 1


@pytest.mark.parametrize(
    ("modes", "passes"), [((), True), ((Mode.STRONG_VALIDATION,), False)], ids=["usual", "strong"]
)
def test_repaired_calls_pass_only_where_the_policy_allows_it(
    modes: tuple[Mode, ...], passes: bool
) -> None:
    mended = replace(call(), repairs=("trailing_comma",))
    gate, reply = through([mended], plan_at("full", *modes))

    assert bool(reply.calls) is passes
    assert gate.repaired == int(passes)


@pytest.mark.parametrize("choice", [REQUIRED, ToolChoice("named", "Read")])
def test_a_reply_without_the_required_call_is_an_error(choice: ToolChoice) -> None:
    gate, reply = through([Text("No.")], choice=choice)

    assert reply.stop is Stop.ERROR
    assert gate.misses_choice
    assert through([call()], choice=choice)[1].stop is Stop.TOOL_CALLS


def test_a_finish_reason_of_calls_without_a_call_is_an_end() -> None:
    gate = CallGate(plan_at(), TOOLS)
    (end,) = gate.pass_events([ReplyEnded(Reply((), Stop.TOOL_CALLS))])

    assert isinstance(end, ReplyEnded)
    assert end.reply.stop is Stop.END


def test_arguments_of_a_simplified_schema_are_restored_and_checked() -> None:
    """The client gets its own schema's arguments, whatever schema the model saw."""
    nested: dict[str, Any] = {
        "type": "object",
        "properties": {"where": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
        "required": ["where"],
    }
    tools = (ToolSpec("Read", "", nested),)
    schemas = schemas_at_level(ModelCall("m", (), tools=tools), "string_only")
    simple: dict[str, Any] = dict(schemas.by_tool["Read"].simplify({"where": None}))
    gate = CallGate(plan_at(), tools, schemas=schemas)
    events = gate.pass_events(reply_events(Reply((call(**simple),), Stop.TOOL_CALLS)))

    end = events[-1]
    assert isinstance(end, ReplyEnded)
    assert [dict(each.input) for each in end.reply.calls] == [{"where": None}]
