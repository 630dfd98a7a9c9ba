"""Late system messages, tools in the prompt, references, images, and the role of results."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

import pytest

from probes.messages import (
    JSON,
    ModelCall,
    Opaque,
    Reply,
    Role,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Turn,
)
from tests.simulators.fault_client import (
    BARE,
    EVERY_FORMAT,
    ONE,
    PING,
    FaultyVendor,
    question,
    read_calls,
)
from tests.simulators.refusal_cases import post
from tests.simulators.test_new_refusals import build_request

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


def picture(colour: tuple[int, int, int]) -> str:
    """A picture of one colour, in base64."""
    row = b"\0" + bytes(colour) * 8
    head = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(row * 8))
    return base64.b64encode(png).decode()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


RED = (255, 0, 0)


def anthropic_image(colour: tuple[int, int, int]) -> JSON:
    source: JSON = {"type": "base64", "media_type": "image/png", "data": picture(colour)}
    return {"type": "image", "source": source}


def chat_image(colour: tuple[int, int, int]) -> JSON:
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture(colour)}"}}


def looked_at(result: ToolResult, *more: Turn) -> ModelCall:
    """A question whose call has this result."""
    made = ToolCall("toolu_1", "probe_ping", {}, "anthropic", "{}")
    turns = (turn(Role.USER, BARE), Turn(Role.ASSISTANT, (made,)), Turn(Role.TOOL, (result,)))
    return ModelCall("", (*turns, *more), tools=(PING,))


def picture_call(colour: tuple[int, int, int], wire_format: str = "anthropic") -> ModelCall:
    """A question whose tool result is a picture."""
    extras: dict[str, dict[str, JSON]] = {
        "vllm": {"openai": {"content": [chat_image(colour)]}},
        "openai": {"openai": {"content": [chat_image(colour)]}},
        "ollama": {"ollama": {"images": [picture(colour)]}},
    }
    if wire_format == "anthropic":
        return looked_at(ToolResult("toolu_1", "", blocks=(anthropic_image(colour),)))
    return looked_at(ToolResult("toolu_1", "", extra=extras[wire_format]))


def user_picture_call(colour: tuple[int, int, int], wire_format: str = "anthropic") -> ModelCall:
    """A question with a picture in the user message after the result."""
    text = Text("This is the picture.")
    if wire_format == "ollama":
        shown = Turn(Role.USER, (text,), extra={"ollama": {"images": [picture(colour)]}})
    else:
        is_chat = wire_format in ("openai", "vllm")
        image = chat_image(colour) if is_chat else anthropic_image(colour)
        opaque = Opaque("openai" if is_chat else "anthropic", image)
        shown = Turn(Role.USER, (text, opaque))
    return looked_at(ToolResult("toolu_1", "It is in the next message."), shown)


@pytest.mark.parametrize(
    ("colour", "name"), [(RED, "red"), ((10, 10, 230), "blue"), ((250, 250, 245), "white")]
)
@pytest.mark.parametrize("wire_format", ["anthropic", "vllm", "ollama"])
def test_a_model_sees_pictures_unless_it_is_blind(
    wire_format: str, colour: tuple[int, int, int], name: str, vendor_url: str
) -> None:
    """`blind`: accepted, and not named; `blind-results`: only those of user messages are named."""
    in_result, in_user_turn = (
        make(colour, wire_format) for make in (picture_call, user_picture_call)
    )
    seen = {
        switches: tuple(
            f"A picture: {name}." in (ask(vendor_url, switches, wire_format, call).text or "")
            for call in (in_result, in_user_turn)
        )
        for switches in (HEALTHY, "blind", "blind-results")
    }

    assert seen == {HEALTHY: (True, True), "blind": (False, False), "blind-results": (False, True)}


@pytest.mark.parametrize(
    ("switches", "statuses", "says"),
    [
        ("images-refused", [400, 400], "image_url is only supported by certain models"),
        ("result-images-refused", [400, 200], "Tool message content only supports text."),
        ("images-fail", [500, 500], "Internal Server Error"),
        ("result-images-fail", [500, 200], "Internal Server Error"),
    ],
)
@pytest.mark.parametrize("wire_format", ["anthropic", "vllm", "ollama"])
def test_pictures_can_be_refused(
    wire_format: str, switches: str, statuses: list[int], says: str, vendor_url: str
) -> None:
    """Everywhere or in results; other results are accepted."""
    vendor = FaultyVendor(vendor_url, switches)

    pictured = [make(RED, wire_format) for make in (picture_call, user_picture_call)]
    in_result, in_user_turn = (vendor.ask(wire_format, call) for call in pictured)
    assert [in_result.status_code, in_user_turn.status_code] == statuses
    assert says in in_result.text
    assert vendor.ask(wire_format, looked_at(ToolResult("toolu_1", "pong"))).status_code == 200


def test_openai_takes_pictures_of_users_alone(vendor_url: str) -> None:
    """With its own words."""
    vendor = FaultyVendor(vendor_url, HEALTHY)

    refused = vendor.ask("openai", picture_call(RED, "openai"))
    assert refused.status_code == 400
    assert "this message with role 'tool' contains an image URL" in refused.text
    assert vendor.ask("openai", user_picture_call(RED, "openai")).status_code == 200


@pytest.mark.parametrize(
    ("vendor", "status", "says"),
    [
        ("llamacpp", 500, "image input is not supported"),
        ("deepseek", 400, "unknown variant `image_url`, expected `text`"),
    ],
)
def test_models_without_vision_refuse_pictures_everywhere(
    vendor: str, status: int, says: str, vendor_url: str
) -> None:
    """llama.cpp as a server error, DeepSeek's gateway as a type that it does not know."""
    messages = [{"role": "user", "content": [{"type": "text", "text": "hi"}, chat_image(RED)]}]
    answer = post(vendor_url, vendor, json=build_request(vendor, *messages))

    assert answer.status_code == status
    assert says in answer.text


def text_result_call(result: str) -> ModelCall:
    """A question whose call and result are text."""
    made = 'I call this tool: {"name": "probe_ping", "arguments": {}}'
    turns = (turn(Role.USER, BARE), turn(Role.ASSISTANT, made), turn(Role.USER, result))
    return ModelCall("", turns, tools=(PING,))


@every_format
def test_a_model_understands_a_result_that_is_text(wire_format: str, vendor_url: str) -> None:
    """It does not call again; `ignores-results` ignores such a result as well."""
    call = text_result_call("Tool result: pong-7")
    used, ignored = (ask(vendor_url, s, wire_format, call) for s in (HEALTHY, "ignores-results"))

    assert "pong-7" in (used.text or "")
    assert not used.calls
    assert "pong-7" not in (ignored.text or "")


@pytest.mark.parametrize(
    ("switches", "wire_format", "status", "says"),
    [
        ("tool-role-refused", "openai", 400, "Invalid value: 'tool'. Supported values are:"),
        ("tool-role-refused", "ollama", 400, "invalid role: tool"),
        ("tool-role-refused", "anthropic", 400, "messages.2.content.0: Input tag 'tool_result'"),
        ("template-without-tools", "vllm", 500, "Conversation roles must alternate"),
    ],
)
def test_a_role_can_be_refused(
    switches: str, wire_format: str, status: int, says: str, vendor_url: str
) -> None:
    """In the words of each format; the same result as text is used."""
    vendor = FaultyVendor(vendor_url, switches)

    refused = vendor.ask(wire_format, looked_at(ToolResult("toolu_1", "pong-7")))
    assert refused.status_code == status
    assert says in refused.text
    text = vendor.read_reply(wire_format, text_result_call("Tool result: pong-7")).text
    assert "pong-7" in (text or "")


@pytest.mark.parametrize("wire_format", [name for name in EVERY_FORMAT if name != "gemini"])
def test_a_role_can_be_ignored(wire_format: str, vendor_url: str) -> None:
    """`tool-role-ignored`: the call comes again, as if there had been none."""
    call = looked_at(ToolResult("toolu_1", "pong-7"))
    reply = ask(vendor_url, "tool-role-ignored", wire_format, call)

    assert [made.name for made in reply.calls] == ["probe_ping"]
    assert "pong-7" not in (reply.text or "")
    text = ask(vendor_url, "tool-role-ignored", wire_format, text_result_call("Tool result: pong"))
    assert "pong" in (text.text or "")
