from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest

from probes.adapters import FORMATS
from probes.findings import FindingKind
from probes.messages import ModelCall, Role, Text, ToolResult, ToolSpec, Turn
from simulators.vendors.spec import Spec
from simulators.vendors.vendor_registry import SPECS
from tests.simulators.conversation import FIRST, NONCES, PROMPT, SECOND, TOOLS, run_tool
from tests.simulators.refusal_cases import KEYS, PATHS, classify_refusal
from tests.simulators.test_new_refusals import FUNCTION, QWEN, USER, ask, calls, result

SPLIT = {"reasoning_split": True}


@pytest.mark.parametrize(
    ("vendor", "body"),
    [
        (
            "minimax",
            {
                "type": "error",
                "error": {
                    "type": "bad_request_error",
                    "message": "invalid params, tool result's tool id(a) not found (2013)",
                    "http_code": "400",
                },
            },
        ),
        (
            "qwen",
            {
                "error": {
                    "code": "invalid_parameter_error",
                    "param": None,
                    "message": f'{QWEN}messages with role "tool" must be a response to a '
                    'preceeding message with "tool_calls".',
                    "type": "invalid_request_error",
                }
            },
        ),
        (
            "kimi",
            {
                "error": {
                    "message": "tool message tool_call_id 'a' does not match any tool call in "
                    "the preceding assistant messages",
                    "type": "invalid_request_error",
                }
            },
        ),
        (
            "mistral",
            {
                "object": "error",
                "message": "Unexpected role 'tool' after role 'user'",
                "type": "invalid_request_message_order",
                "param": None,
                "code": "3230",
            },
        ),
    ],
)
def test_each_vendor_has_its_own_envelope(
    vendor_url: str, vendor: str, body: dict[str, Any]
) -> None:
    """A refused orphan result gets the vendor's whole envelope, apart from request ids."""
    envelope = ask(vendor_url, vendor, USER, result("a")).json()

    assert {
        key: value for key, value in envelope.items() if key not in ("id", "request_id")
    } == body


def test_a_relay_passes_the_hosts_error_on_unchanged(vendor_url: str) -> None:
    """The relay sends its own message, the host's name, and the host's body as text."""
    error = ask(vendor_url, "relay", USER, result("a")).json()["error"]

    assert (error["code"], error["metadata"]["provider_name"]) == (400, "SimHost")
    assert json.loads(error["metadata"]["raw"])["error"]["param"] == "messages.[1].role"


def test_glm_answers_its_choice_error_under_its_code(vendor_url: str) -> None:
    """The envelope has a code and a message, and nothing else."""
    body = ask(vendor_url, "glm", USER, tools=[FUNCTION], tool_choice="required").json()

    assert body == {"error": {"code": "1210", "message": "Tool choice must be auto"}}


CALL_TWICE = "Call probe_echo twice in one turn.\nmessage: one\ntag: alpha\nmessage: two\ntag: beta"
ECHO = {
    "type": "function",
    "function": {"name": "probe_echo", "parameters": TOOLS["probe_echo"]},
}


def ask_for_two_calls(vendor_url: str, vendor: str, *history: Any, **options: Any) -> Any:
    messages = (*history, {"role": "user", "content": CALL_TWICE})
    return ask(vendor_url, vendor, *messages, tools=[ECHO], **options).json()["choices"][0][
        "message"
    ]


@pytest.mark.parametrize(
    ("vendor", "pattern"),
    [
        ("minimax", r"call_function_[a-z0-9]{12}_%d"),
        ("mistral", r"[a-zA-Z0-9]{9}"),
        ("deepseek", r"call_%02d_[a-zA-Z0-9]{24}"),
    ],
)
def test_ids_look_as_the_vendors_do(vendor_url: str, vendor: str, pattern: str) -> None:
    """MiniMax counts from 1, DeepSeek from 0, Mistral has nine characters."""
    first, second = (call["id"] for call in ask_for_two_calls(vendor_url, vendor)["tool_calls"])

    places = (1, 2) if vendor == "minimax" else (0, 1)
    for id_, place in zip((first, second), places, strict=True):
        assert re.fullmatch(pattern % place if "%" in pattern else pattern, id_)


def test_kimi_numbers_its_calls_through_the_conversation(vendor_url: str) -> None:
    """Ids contain the tool's name and a number that continues through the conversation."""
    before = (USER, calls("functions.f:0", reasoning_content="t"), result("functions.f:0"))

    made = ask_for_two_calls(vendor_url, "kimi", *before)["tool_calls"]

    assert [call["id"] for call in made] == ["functions.probe_echo:1", "functions.probe_echo:2"]


def test_minimax_thinks_in_its_content_unless_it_is_split(vendor_url: str) -> None:
    """Reasoning is in think tags, or in an array next to the content."""
    tagged = ask_for_two_calls(vendor_url, "minimax")
    split = ask_for_two_calls(vendor_url, "minimax", **SPLIT)

    assert tagged["content"].startswith("<think>\n")
    assert tagged["content"].endswith("\n</think>\n\n")
    assert "reasoning_details" not in tagged
    assert split["content"] is None
    assert split["reasoning_details"][0]["type"] == "reasoning.text"


def test_glm_streams_a_call_whole(vendor_url: str) -> None:
    """Id, name and all arguments of a call are in one chunk."""
    messages = [{"role": "user", "content": CALL_TWICE}]
    body = {"model": "sim-4.7", "messages": messages, "tools": [ECHO], "stream": True}
    with httpx.Client(trust_env=False, headers=KEYS) as client:
        text = client.post(vendor_url + PATHS["glm"], json=body).text
    lines = [line.removeprefix("data: ") for line in text.splitlines() if 'tool_calls": [' in line]

    entries = [json.loads(line)["choices"][0]["delta"]["tool_calls"] for line in lines]

    assert [len(entry) for entry in entries] == [1, 1]
    assert [json.loads(entry[0]["function"]["arguments"])["message"] for entry in entries] == [
        "one",
        "two",
    ]
    assert all(entry[0]["id"] for entry in entries)


def test_a_relay_names_the_host_and_sends_reasoning_twice(vendor_url: str) -> None:
    """The body has the host's name, and the same reasoning as a string and as an array."""
    body = ask(vendor_url, "relay", USER, reasoning={"enabled": True}).json()
    message = body["choices"][0]["message"]

    assert body["provider"] == "SimHost"
    assert message["reasoning"] == message["reasoning_details"][0]["text"]


@pytest.mark.parametrize(("display", "shown"), [("omitted", False), ("summarized", True)])
def test_the_newest_claude_omits_its_reasoning(vendor_url: str, display: str, shown: bool) -> None:
    """The block always has its signature, but its text only on request."""
    thinking = {"type": "adaptive", "display": display}
    block = ask(vendor_url, "anthropic-strict", USER, thinking=thinking).json()["content"][0]

    assert block["type"] == "thinking"
    assert bool(block["thinking"]) is shown
    assert block["signature"]


def test_a_silent_re_route_requires_reasoning_that_the_relay_did_not(vendor_url: str) -> None:
    """The host's refusal is wrapped, and reasoning in the relay's own fields satisfies it."""
    url = f"{vendor_url}/with/route-strict"
    bare = ask(url, "relay", USER, calls("a"), result("a"))
    kept = ask(url, "relay", USER, calls("a", reasoning="t"), result("a"))

    assert classify_refusal(bare, "openai") == FindingKind.REPLAY_MISSING
    assert kept.status_code == 200
    assert ask(vendor_url, "relay", USER, calls("a"), result("a")).status_code == 200


EVERY = ["auto", "none", "required", "named"]
UNFORCED = ["auto", "none"]
OFF = {"thinking": {"type": "disabled"}}
TRUTHS: list[tuple[str, dict[str, Any], list[str], str]] = [
    ("minimax", {}, EVERY, "tolerated"),
    ("minimax-anthropic", {}, EVERY, "tolerated"),
    ("glm", {}, ["auto"], "tolerated"),
    ("glm", OFF, ["auto"], "none"),
    ("qwen", {}, UNFORCED, "tolerated"),
    ("qwen", {"enable_thinking": False}, EVERY, "none"),
    ("qwen-hermes", {}, EVERY, "tolerated"),
    ("kimi", {}, UNFORCED, "required_all_turns"),
    ("kimi", OFF, EVERY, "none"),
    ("mistral", {}, EVERY, "none"),
    ("relay", {}, EVERY, "none"),
    ("relay", {"reasoning": {"effort": "low"}}, EVERY, "tolerated"),
    ("deepseek-anthropic", {}, UNFORCED, "required_all_turns"),
    ("deepseek-anthropic", OFF, EVERY, "none"),
    ("anthropic-strict", {}, UNFORCED, "tolerated"),
]


@pytest.mark.parametrize(("vendor", "options", "choices", "replay"), TRUTHS)
def test_the_truth_about_a_vendor_follows_its_rules(
    vendor_url: str, vendor: str, options: dict[str, Any], choices: list[str], replay: str
) -> None:
    """The truth has the working choices and the replay duty, thinking or not."""
    query = {"options": json.dumps(options)}
    with httpx.Client(trust_env=False) as client:
        truth = client.get(f"{vendor_url}/_truth/{vendor}", params=query).json()

    assert truth["capabilities"]["tool_choice"] == choices
    assert truth["capabilities"]["reasoning_replay"] == replay
    assert truth["capabilities"]["parser"] is None


@pytest.mark.parametrize(
    ("vendor", "shape", "parser"),
    [("vllm-bare", "json_text", "hermes"), ("qwen-xml", "xml", "qwen_xml")],
)
def test_the_truth_about_a_leaking_server_names_its_text_format(
    vendor_url: str, vendor: str, shape: str, parser: str
) -> None:
    """The truth names the text format and the parser that recovers the calls."""
    with httpx.Client(trust_env=False) as client:
        truth = client.get(f"{vendor_url}/_truth/{vendor}").json()

    assert truth["capabilities"]["tool_call_format"] == shape
    assert truth["capabilities"]["parser"] == parser
    assert truth["metrics"]["leak"]["rate"] == 1


def our_tools() -> tuple[ToolSpec, ...]:
    schemas: dict[str, Any] = TOOLS
    return tuple(ToolSpec(name, "", schema) for name, schema in schemas.items())


@pytest.mark.parametrize("spec", [s for s in SPECS if "leak" not in s.faults], ids=lambda s: s.name)
def test_our_adapters_hold_the_conversation_with_every_vendor(vendor_url: str, spec: Spec) -> None:
    """Replies are replayed as they were read, and no vendor refuses them."""
    adapter, model = FORMATS[spec.format], next(iter(spec.models))
    turns: tuple[Turn, ...] = (Turn(Role.USER, (Text(PROMPT),)),)
    url = vendor_url + spec.mount + spec.path.replace("{model}", model)
    steps = []
    with httpx.Client(trust_env=False, headers=KEYS) as client:
        for _ in range(3):
            body = adapter.write_request(ModelCall(model, turns, tools=our_tools()))
            response = client.post(url, json=body)
            assert response.status_code == 200, response.text
            reply = adapter.read_reply(response.json())
            assert not reply.deviations
            steps.append([(call.name, dict(call.input)) for call in reply.calls])
            results = tuple(
                ToolResult(call.id, *run_tool(call.name, call.input), name=call.name)
                for call in reply.calls
            )
            turns = (*turns, reply.as_turn(), Turn(Role.TOOL, results))

    assert steps == [FIRST, SECOND, []]
    assert all(nonce in (reply.text or "") for nonce in NONCES)
