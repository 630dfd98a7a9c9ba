from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import httpx
import pytest

from probes.messages import (
    JSON,
    NONE,
    REQUIRED,
    ModelCall,
    Reply,
    Role,
    Text,
    ToolChoice,
    ToolResult,
    Turn,
)
from tests.simulators.fault_client import (
    ADD,
    ADDED,
    ECHO,
    ECHOED,
    EVERY_FORMAT,
    ONE,
    TWO,
    FaultyVendor,
    question,
    read_calls,
    read_frames,
    tool,
)
from tests.simulators.raw_requests import post, wire_calls

every_format = pytest.mark.parametrize("wire_format", EVERY_FORMAT)
formats_with_choice = pytest.mark.parametrize(
    "wire_format", [wire_format for wire_format in EVERY_FORMAT if wire_format != "ollama"]
)
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
SUM = "Call probe_add with a = 3 and b = 4."
ERROR = {
    "is_error": True,
    "error_code": "out_of_range",
    "message": "a must be at least 10",
    "path": "$.a",
    "retryable": True,
}
WRONG = ("probe_add", {"a": 3, "b": 4})
RIGHT = ("probe_add", {"a": 10, "b": 4})
# A switch that never acts.
HEALTHY = "one-call,p=0"
GREETING = "Good morning. How are you?"


def read_wire_calls(body: JSON) -> list[tuple[str, Any]]:
    """Names and arguments of the calls in a raw body."""
    return [(call.name, call.arguments) for call in wire_calls(body)]


def continue_with_results(
    call: ModelCall, reply: Reply, content: str, *, is_error: bool = False
) -> ModelCall:
    """The request with a reply and the same result for each of its calls."""
    results = [ToolResult(made.id, content, is_error, made.name) for made in reply.calls]
    return replace(call, turns=(*call.turns, reply.as_turn(), Turn(Role.TOOL, tuple(results))))


def ask_after_errors(faulty: FaultyVendor, wire_format: str, errors: int) -> Any:
    """The body of the answer after that many errors in a row."""
    call = question(SUM, ADD)
    for _ in range(errors):
        reply = faulty.read_reply(wire_format, call)
        call = continue_with_results(call, reply, json.dumps(ERROR), is_error=True)
    return faulty.read_body(wire_format, call)


@both_ways
@every_format
def test_only_the_first_of_two_calls_is_made(
    vendor_url: str, wire_format: str, stream: bool
) -> None:
    """Only one of two requested calls comes; the other follows the first one's result."""
    faulty = FaultyVendor(vendor_url, "one-call")

    reply = faulty.read_reply(wire_format, question(TWO), stream=stream)
    assert read_calls(reply) == [ECHOED]
    assert read_wire_calls(faulty.read_body(wire_format, question(TWO))) == [ECHOED]
    later = faulty.read_body(wire_format, continue_with_results(question(TWO), reply, "done"))
    assert read_wire_calls(later) == [ADDED]


@pytest.mark.parametrize("wire_format", ["openai", "openai_responses", "anthropic"])
def test_the_switch_for_parallel_calls_is_ignored(vendor_url: str, wire_format: str) -> None:
    """Two calls come although parallel calls are off."""
    call = replace(question(TWO), parallel=False)

    assert read_wire_calls(FaultyVendor(vendor_url, HEALTHY).read_body(wire_format, call)) == [
        ECHOED
    ]
    assert read_wire_calls(
        FaultyVendor(vendor_url, "ignores-parallel-off").read_body(wire_format, call)
    ) == [
        ECHOED,
        ADDED,
    ]


@both_ways
@every_format
def test_a_call_is_made_twice(vendor_url: str, wire_format: str, stream: bool) -> None:
    """The same call comes under two ids."""
    faulty = FaultyVendor(vendor_url, "twice")

    assert read_wire_calls(faulty.read_body(wire_format, question(ONE))) == [ECHOED, ECHOED]
    calls = faulty.read_reply(wire_format, question(ONE), stream=stream).calls
    assert [(call.name, dict(call.input)) for call in calls] == [ECHOED, ECHOED]
    assert len({call.id for call in calls}) == 2


@every_format
def test_an_error_changes_nothing(vendor_url: str, wire_format: str) -> None:
    """The same call comes again after every error; without the fault it is corrected."""
    faulty = FaultyVendor(vendor_url, "no-repair")

    assert read_wire_calls(ask_after_errors(FaultyVendor(vendor_url, HEALTHY), wire_format, 1)) == [
        RIGHT
    ]
    assert [read_wire_calls(ask_after_errors(faulty, wire_format, n)) for n in (0, 1, 2)] == [
        [WRONG]
    ] * 3


@every_format
def test_a_model_gives_up_after_an_error(vendor_url: str, wire_format: str) -> None:
    """The answer to an error is text without a call."""
    body = ask_after_errors(FaultyVendor(vendor_url, "gives-up"), wire_format, 1)

    assert read_wire_calls(body) == []
    assert "probe_add failed and I cannot help any further" in json.dumps(body)


@every_format
def test_a_call_is_corrected_at_the_second_try_only(vendor_url: str, wire_format: str) -> None:
    """The call is repeated after the first error and corrected after the second."""
    faulty = FaultyVendor(vendor_url, "slow-repair")

    assert read_wire_calls(ask_after_errors(faulty, wire_format, 1)) == [WRONG]
    assert read_wire_calls(ask_after_errors(faulty, wire_format, 2)) == [RIGHT]


@every_format
def test_an_error_leads_to_a_call_of_an_undeclared_tool(vendor_url: str, wire_format: str) -> None:
    """The model calls a tool named invalid, and calls it again after its error."""
    faulty = FaultyVendor(vendor_url, "invalid-tool-loop")

    for errors, called in ((1, "probe_add"), (2, "invalid")):
        ((name, arguments),) = read_wire_calls(ask_after_errors(faulty, wire_format, errors))
        assert (name, arguments["tool"]) == ("invalid", called)
        assert "a must be at least 10" in arguments["error"]


@every_format
def test_results_are_ignored(vendor_url: str, wire_format: str) -> None:
    """The answer does not contain the tool's result."""
    nonce = "nonce-5513"
    bodies = {}
    for switches in (HEALTHY, "ignores-results"):
        faulty = FaultyVendor(vendor_url, switches)
        call = question(SUM, ADD)
        bodies[switches] = faulty.read_body(
            wire_format, continue_with_results(call, faulty.read_reply(wire_format, call), nonce)
        )

    assert nonce in json.dumps(bodies[HEALTHY])
    assert nonce not in json.dumps(bodies["ignores-results"])
    assert read_wire_calls(bodies["ignores-results"]) == []


@every_format
def test_results_are_not_used_in_further_calls(vendor_url: str, wire_format: str) -> None:
    """The next call of a chain has a value of its own."""
    chain = "First call get_key once. Then call probe_echo with tag beta and message: the key"
    made = {}
    for switches in (HEALTHY, "ignores-results"):
        faulty = FaultyVendor(vendor_url, switches)
        call = question(f"{chain} that the result gave", tool("get_key"), ECHO)
        reply = faulty.read_reply(wire_format, call)
        call = continue_with_results(call, reply, '{"key": "amber-5513"}')
        made[switches] = read_calls(faulty.read_reply(wire_format, call))

    assert made[HEALTHY] == [("probe_echo", {"message": "amber-5513", "tag": "beta"})]
    assert made["ignores-results"] == [("probe_echo", {"message": "unknown", "tag": "beta"})]


@formats_with_choice
@pytest.mark.parametrize("choice", [REQUIRED, ToolChoice("named", "probe_add")])
def test_a_forced_call_is_not_made(vendor_url: str, wire_format: str, choice: ToolChoice) -> None:
    """A forced choice is ignored if the prompt does not request a tool."""
    call = replace(question(GREETING, ADD), tool_choice=choice)

    assert [
        name
        for name, _ in read_wire_calls(
            FaultyVendor(vendor_url, HEALTHY).read_body(wire_format, call)
        )
    ] == ["probe_add"]
    body = FaultyVendor(vendor_url, "ignores-choice").read_body(wire_format, call)
    assert read_wire_calls(body) == []
    assert "glad to help" in json.dumps(body)


@formats_with_choice
def test_a_forbidden_call_is_made(vendor_url: str, wire_format: str) -> None:
    """The choice none is accepted and ignored."""
    call = replace(question(ONE), tool_choice=NONE)

    assert read_wire_calls(FaultyVendor(vendor_url, HEALTHY).read_body(wire_format, call)) == []
    assert read_wire_calls(
        FaultyVendor(vendor_url, "calls-despite-none").read_body(wire_format, call)
    ) == [ECHOED]


THINK: Mapping[str, Mapping[str, JSON]] = {
    "openai": {"reasoning_effort": "high"},
    "openai_responses": {"reasoning": {"effort": "high"}},
    "anthropic": {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    "gemini": {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}},
    "vllm": {"reasoning_effort": "high"},
}


@pytest.mark.parametrize("wire_format", ["openai_responses", "anthropic", "gemini", "vllm"])
def test_thinking_is_gone_where_a_call_is_forced(vendor_url: str, wire_format: str) -> None:
    """The model thinks by default; forced to call, it neither thinks nor is refused."""
    faulty = FaultyVendor(vendor_url, "forced-without-thinking")
    free = question(ONE, **THINK[wire_format])
    forced = replace(free, tool_choice=REQUIRED)

    assert "The user wants something done" in faulty.ask(wire_format, free).text
    body = faulty.read_body(wire_format, forced)
    assert read_wire_calls(body) == [ECHOED]
    assert "The user wants something done" not in json.dumps(body)
    assert faulty.read_reply(wire_format, forced).reasoning is None


@both_ways
@pytest.mark.parametrize(
    ("wire_format", "none"),
    [
        ("openai", {"reasoning_effort": "none"}),
        ("openai_responses", {"reasoning": {"effort": "none"}}),
    ],
)
def test_no_effort_still_thinks_and_costs(
    vendor_url: str, wire_format: str, none: dict[str, JSON], stream: bool
) -> None:
    """The request is accepted, the model thinks, and the reasoning is billed."""
    if stream and wire_format == "openai":
        none = {**none, "stream_options": {"include_usage": True}}
    call = question(ONE, **none)
    cheap = FaultyVendor(vendor_url, HEALTHY).read_reply(wire_format, call, stream=stream)
    expensive = FaultyVendor(vendor_url, "effort-ignored").read_reply(
        wire_format, call, stream=stream
    )

    assert cheap.reasoning is None
    assert expensive.reasoning
    assert expensive.usage.reasoning_tokens == 2048
    assert (expensive.usage.output_tokens or 0) > 2048 + (cheap.usage.output_tokens or 0)


def test_no_effort_shows_in_the_body(vendor_url: str) -> None:
    """The body has reasoning next to the call, and its tokens in the usage."""
    tool = {"type": "function", "function": {"name": "probe_add", "parameters": ADD.schema}}
    request = {"messages": [{"role": "user", "content": SUM}], "tools": [tool]}
    body = {**request, "reasoning_effort": "none"}
    answer = post(vendor_url, "effort-ignored", "openai", body).json()

    assert answer["choices"][0]["message"]["reasoning_content"]
    assert answer["usage"]["completion_tokens_details"] == {"reasoning_tokens": 2048}


def test_a_new_question_ends_the_effect_of_an_error(vendor_url: str) -> None:
    """Errors of an earlier round have no effect on a new question."""
    faulty = FaultyVendor(vendor_url, "gives-up")
    call = question(SUM, ADD)
    call = continue_with_results(
        call, faulty.read_reply("openai", call), json.dumps(ERROR), is_error=True
    )
    gave_up = faulty.read_reply("openai", call).as_turn()
    new_question = Turn(Role.USER, (Text("Call probe_add with a = 20 and b = 1."),))
    body = faulty.read_body("openai", replace(call, turns=(*call.turns, gave_up, new_question)))

    assert read_wire_calls(body) == [("probe_add", {"a": 20, "b": 1})]


def test_a_streamed_call_is_in_the_deltas_twice(vendor_url: str) -> None:
    """The stream opens the call twice, with two indexes."""
    answer = FaultyVendor(vendor_url, "twice").ask("openai", question(ONE), stream=True)
    deltas = [frame["choices"][0]["delta"] for frame in read_frames(answer) if frame["choices"]]
    opened = [call for delta in deltas for call in delta.get("tool_calls", []) if call.get("id")]

    assert [(call["index"], call["function"]["name"]) for call in opened] == [
        (0, "probe_echo"),
        (1, "probe_echo"),
    ]


@pytest.mark.parametrize(
    ("switch", "vendor", "field", "value"),
    [
        ("one-call", "openai", "supports_parallel_tool_use", False),
        ("no-repair", "openai", "error_repair", "none"),
        ("gives-up", "openai", "error_repair", "none"),
        ("invalid-tool-loop", "openai", "error_repair", "none"),
        ("slow-repair", "openai", "error_repair", "limited"),
        ("ignores-choice", "openai", "tool_choice", ["auto", "none"]),
        ("ignores-choice", "deepseek", "tool_choice", ["auto", "none"]),
        ("calls-despite-none", "openai", "tool_choice", ["auto", "required", "named"]),
        (
            "forced-without-thinking",
            "deepseek",
            "tool_choice",
            ["auto", "none", "required", "named"],
        ),
        ("effort-ignored", "openai", "reasoning_replay", "tolerated"),
        ("effort-ignored", "anthropic", "reasoning_replay", "none"),
    ],
)
def test_the_truth_reports_the_remaining_capabilities(
    vendor_url: str, switch: str, vendor: str, field: str, value: JSON
) -> None:
    """The capabilities of a vendor that has the fault."""
    address = f"{vendor_url}/with/{switch}/_truth/{vendor}"

    assert httpx.get(address, trust_env=False).json()["capabilities"][field] == value
