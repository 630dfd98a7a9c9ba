"""Late system messages, tools that are described in the prompt, references, and images."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

import pytest

from probes.messages import JSON, ModelCall, Reply, Role, Text, ToolCall, ToolResult, ToolSpec, Turn
from tests.simulators.fault_client import (
    BARE,
    EVERY_FORMAT,
    ONE,
    PING,
    FaultyVendor,
    question,
    read_calls,
)

every_format = pytest.mark.parametrize("wire_format", EVERY_FORMAT)
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
# A switch that never acts.
HEALTHY = "one-call,p=0"
RULE = 'Finish each answer with "amber-7".'
SAY = 'Say "good morning".'
DESCRIBED = {
    "name": "look_up",
    "description": "Looks up a word.",
    "parameters": {
        "type": "object",
        "properties": {"word": {"type": "string"}},
        "required": ["word"],
    },
}
TAGS = f"""\
<tools>
{json.dumps(DESCRIBED)}
</tools>
To call a tool, write <tool_call>{{"name": ..., "arguments": ...}}</tool_call>."""
PLAIN = f"""\
{json.dumps(DESCRIBED)}
To call a tool, reply with {{"name": ..., "arguments": ...}} and nothing else."""
TASK = "Call look_up with word: cedar"
WRITTEN = '{"name": "look_up", "arguments": {"word": "cedar"}}'
REFERRING = ToolSpec(
    "go",
    "Goes somewhere.",
    {
        "type": "object",
        "properties": {"to": {"$ref": "#/$defs/place"}},
        "required": ["to"],
        "$defs": {"place": {"type": "string"}},
    },
)


def turn(role: Role, text: str) -> Turn:
    return Turn(role, (Text(text),))


def conversation(*turns: tuple[Role, str]) -> ModelCall:
    return ModelCall("", tuple(turn(role, text) for role, text in turns))


def late_rule() -> ModelCall:
    hello = ((Role.USER, "Hello."), (Role.ASSISTANT, "Hello."))
    return conversation(*hello, (Role.SYSTEM, RULE), (Role.USER, SAY))


def first_rule() -> ModelCall:
    return conversation((Role.SYSTEM, RULE), (Role.USER, SAY))


def prompted(prompt: str, *more: tuple[Role, str]) -> ModelCall:
    return conversation((Role.SYSTEM, prompt), (Role.USER, TASK), *more)


def ask(url: str, switches: str, wire_format: str, call: ModelCall, **how: Any) -> Reply:
    return FaultyVendor(url, switches).read_reply(wire_format, call, **how)


@both_ways
@every_format
def test_a_model_follows_the_rules_of_system_messages(
    wire_format: str, stream: bool, vendor_url: str
) -> None:
    """At the beginning, and later as well."""
    for call in (first_rule(), late_rule()):
        reply = ask(vendor_url, HEALTHY, wire_format, call, stream=stream)
        assert reply.text == "good morning amber-7"


@pytest.mark.parametrize("wire_format", [name for name in EVERY_FORMAT if name != "gemini"])
def test_a_late_system_message_can_be_ignored(wire_format: str, vendor_url: str) -> None:
    """`ignores-late-system`: the one at the beginning is still followed."""
    first, late = (
        ask(vendor_url, "ignores-late-system", wire_format, call)
        for call in (first_rule(), late_rule())
    )

    assert (first.text, late.text) == ("good morning amber-7", "good morning")


@pytest.mark.parametrize("wire_format", ["openai", "ollama", "anthropic"])
def test_a_late_system_message_can_be_refused(wire_format: str, vendor_url: str) -> None:
    """`late-system-refused`: the one at the beginning is still accepted."""
    vendor = FaultyVendor(vendor_url, "late-system-refused")

    assert vendor.ask(wire_format, first_rule()).status_code == 200
    refused = vendor.ask(wire_format, late_rule())
    assert refused.status_code == 400
    assert "System message must be at the beginning." in refused.text


@both_ways
@every_format
def test_a_model_writes_calls_as_its_prompt_describes(
    wire_format: str, stream: bool, vendor_url: str
) -> None:
    """As text, between tags or bare, and never on the wire."""
    tagged = ask(vendor_url, HEALTHY, wire_format, prompted(TAGS), stream=stream)
    plain = ask(vendor_url, HEALTHY, wire_format, prompted(PLAIN), stream=stream)

    assert tagged.text == f"<tool_call>\n{WRITTEN}\n</tool_call>"
    assert plain.text == WRITTEN
    assert not tagged.calls
    assert not plain.calls


@pytest.mark.parametrize(
    ("prompt", "made", "result"),
    [
        (TAGS, f"<tool_call>{WRITTEN}</tool_call>", "<tool_response>\na tree\n</tool_response>"),
        (PLAIN, WRITTEN, "Tool result: a tree"),
    ],
)
def test_a_model_uses_results_that_are_text(
    prompt: str, made: str, result: str, vendor_url: str
) -> None:
    """The call is not repeated."""
    call = prompted(prompt, (Role.ASSISTANT, made), (Role.USER, result))

    assert "a tree" in (ask(vendor_url, HEALTHY, "openai", call).text or "")


@every_format
def test_described_tools_can_be_ignored(wire_format: str, vendor_url: str) -> None:
    """`ignores-prompted-tools`: prose, while declared tools still work."""
    for prompt in (TAGS, PLAIN):
        reply = ask(vendor_url, "ignores-prompted-tools", wire_format, prompted(prompt))
        assert "look_up" not in (reply.text or "")
        assert not reply.calls
    declared = ask(vendor_url, "ignores-prompted-tools", wire_format, question(ONE))
    assert [name for name, _ in read_calls(declared)] == ["probe_echo"]


@pytest.mark.parametrize("wire_format", ["openai", "ollama"])
def test_a_server_parses_no_calls_without_declared_tools(wire_format: str, vendor_url: str) -> None:
    """`server-parse` acts on declared tools alone."""
    reply = ask(vendor_url, "server-parse", wire_format, prompted(PLAIN))

    assert reply.text == WRITTEN


@pytest.mark.parametrize("wire_format", ["openai", "anthropic", "openai_responses"])
def test_references_can_be_refused(wire_format: str, vendor_url: str) -> None:
    """`refuses-ref`: 400 names the tool and the keyword; other schemas are accepted."""
    vendor = FaultyVendor(vendor_url, "refuses-ref")
    asked = question("Call go with to: home", REFERRING)

    refused = vendor.ask(wire_format, asked)
    assert refused.status_code == 400
    assert "Invalid schema for function 'go': '$ref' is not permitted." in refused.text
    assert vendor.ask(wire_format, question(ONE)).status_code == 200
    (made,) = read_calls(ask(vendor_url, HEALTHY, wire_format, asked))
    assert made == ("go", {"to": "home"})


def test_mistral_accepts_no_system_message_after_an_answer(vendor_url: str) -> None:
    """With its own words; before the first answer it does."""
    vendor = FaultyVendor(vendor_url, HEALTHY)

    refused = vendor.ask("mistral", late_rule())
    assert refused.status_code == 400
    assert "Unexpected role 'system' after role 'assistant'" in refused.text
    assert vendor.ask("mistral", first_rule()).status_code == 200


def picture_call(colour: tuple[int, int, int]) -> ModelCall:
    """A question whose tool result is a picture, in Anthropic's format."""
    row = b"\0" + bytes(colour) * 8
    head = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(row * 8))
    data = base64.b64encode(png).decode()
    source: JSON = {"type": "base64", "media_type": "image/png", "data": data}
    result = ToolResult("toolu_1", "", blocks=({"type": "image", "source": source},))
    made = ToolCall("toolu_1", "probe_ping", {}, "anthropic", "{}")
    turns = (turn(Role.USER, BARE), Turn(Role.ASSISTANT, (made,)), Turn(Role.TOOL, (result,)))
    return ModelCall("", turns, tools=(PING,))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


@pytest.mark.parametrize(
    ("colour", "name"), [((255, 0, 0), "red"), ((10, 10, 230), "blue"), ((250, 250, 245), "white")]
)
def test_a_model_sees_pictures_in_results_unless_it_is_blind(
    colour: tuple[int, int, int], name: str, vendor_url: str
) -> None:
    """`blind`: the picture is accepted, and the answer does not name its colour."""
    seen, unseen = (
        ask(vendor_url, switches, "anthropic", picture_call(colour)).text or ""
        for switches in (HEALTHY, "blind")
    )

    assert f"A picture: {name}." in seen
    assert name not in unseen


def test_pictures_can_be_refused(vendor_url: str) -> None:
    """`images-refused`: other results are accepted."""
    vendor = FaultyVendor(vendor_url, "images-refused")

    refused = vendor.ask("anthropic", picture_call((255, 0, 0)))
    assert refused.status_code == 400
    assert "image_url is only supported by certain models" in refused.text
    assert vendor.ask("anthropic", question(ONE)).status_code == 200
