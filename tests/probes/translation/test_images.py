"""Pictures in user turns and in results: read and written in all formats, moved, or reported."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

from probes.adapters import FORMATS
from probes.adapters.images import FOLLOWS
from probes.losses import LossKind
from probes.messages import (
    Image,
    ModelCall,
    Part,
    Reply,
    Role,
    Stop,
    Text,
    ToolCall,
    ToolResult,
    Turn,
)
from tests.probes.translation.sdk_types import VALIDATORS

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAAA="
JPEG = "/9j/4AAQSkZJRg=="
ONE, TWO = Image("image/png", PNG), Image("image/jpeg", JPEG)
WEB = Image(url="https://example.org/a.png")
PAIRS = list(product(sorted(FORMATS), repeat=2))
BASE64_ONLY = {"gemini", "ollama"}
TEXT_RESULTS = {"openai", "ollama"}
CALL = ToolCall("c1", "look", {}, "", "{}")
OTHER = ToolCall("c2", "look", {}, "", "{}")

# A request with a picture in a user turn and in a result, in each format.
BODIES: dict[str, Any] = {
    "anthropic": {
        "model": "m",
        "max_tokens": 9,
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "See"},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": PNG},
                        "cache_control": {"type": "ephemeral"},
                    },
                    {"type": "image", "source": {"type": "url", "url": WEB.url}},
                ],
            },
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {}}],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": [
                            {"type": "text", "text": "Here"},
                            {
                                "type": "image",
                                "source": {
                                    "type": "base64",
                                    "media_type": "image/jpeg",
                                    "data": JPEG,
                                },
                            },
                        ],
                    }
                ],
            },
        ],
    },
    "openai": {
        "model": "m",
        "max_tokens": 9,
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "See"},
                    {
                        "type": "image_url",
                        "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"},
                    },
                    {"type": "image_url", "image_url": {"url": WEB.url}},
                ],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "look", "arguments": "{}"},
                    }
                ],
            },
            {
                "role": "tool",
                "tool_call_id": "c1",
                "content": [
                    {"type": "text", "text": "Here"},
                    {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{JPEG}"}},
                ],
            },
        ],
    },
    "openai_responses": {
        "model": "m",
        "max_output_tokens": 9,
        "input": [
            {
                "type": "message",
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "See"},
                    {
                        "type": "input_image",
                        "image_url": f"data:image/png;base64,{PNG}",
                        "detail": "low",
                    },
                    {"type": "input_image", "image_url": WEB.url, "detail": "auto"},
                ],
            },
            {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
            {
                "type": "function_call_output",
                "call_id": "c1",
                "output": [
                    {"type": "input_text", "text": "Here"},
                    {"type": "input_image", "image_url": f"data:image/jpeg;base64,{JPEG}"},
                ],
            },
        ],
    },
    "gemini": {
        "contents": [
            {
                "role": "user",
                "parts": [{"text": "See"}, {"inlineData": {"mimeType": "image/png", "data": PNG}}],
            },
            {
                "role": "model",
                "parts": [{"functionCall": {"name": "look", "args": {}, "id": "c1"}}],
            },
            {
                "role": "user",
                "parts": [
                    {
                        "functionResponse": {
                            "name": "look",
                            "id": "c1",
                            "response": {"output": "Here"},
                            "parts": [{"inlineData": {"mimeType": "image/jpeg", "data": JPEG}}],
                        }
                    }
                ],
            },
        ],
        "generationConfig": {"maxOutputTokens": 9},
    },
    "ollama": {
        "model": "m",
        "stream": False,
        "options": {"num_predict": 9},
        "messages": [
            {"role": "user", "content": "See", "images": [PNG]},
            {"role": "assistant", "content": "Nice."},
        ],
    },
}


def ask(*turns: Turn) -> ModelCall:
    return ModelCall("m", turns, max_tokens=9)


def conversation(*result_parts: Text | Image) -> ModelCall:
    content = "".join(part.text for part in result_parts if isinstance(part, Text))
    seen = ToolResult("c1", content, name="look", parts=result_parts)
    plain = ToolResult("c2", "nothing", name="look")
    return ask(
        Turn(Role.USER, (Text("See"), ONE)),
        Turn(Role.ASSISTANT, (CALL, OTHER)),
        Turn(Role.TOOL, (seen, plain)),
    )


def carried(endpoint: str, call: ModelCall) -> ModelCall:
    return FORMATS[endpoint].read_request(
        json.loads(json.dumps(FORMATS[endpoint].write_request(call)))
    )


def pictures(parts: tuple[Part, ...]) -> list[str]:
    return [part.data or part.url for part in parts if isinstance(part, Image)]


def kinds(endpoint: str, call: ModelCall) -> list[LossKind]:
    losses = FORMATS[endpoint].losses(call)
    return [loss.kind for loss in losses if loss.kind is not LossKind.EXTRA]


@pytest.mark.parametrize("format", sorted(BODIES))
def test_a_request_with_pictures_is_written_back_as_it_was(format: str) -> None:
    """Pictures are values, and nothing of their blocks is lost in their own format."""
    call = FORMATS[format].read_request(BODIES[format])

    assert pictures(call.turns[0].parts)[0] == PNG
    if format != "ollama":
        (result,) = call.turns[2].results
        assert [(image.media_type, image.data) for image in result.images] == [("image/jpeg", JPEG)]
        assert result.content == "Here"
    assert json.loads(json.dumps(FORMATS[format].write_request(call))) == BODIES[format]
    assert FORMATS[format].losses(call) == []


@pytest.mark.parametrize(("client", "endpoint"), PAIRS)
def test_a_picture_arrives_in_every_format(client: str, endpoint: str) -> None:
    """Data in a user turn crosses all pairs; an address is reported where only data can be sent."""
    call = FORMATS[client].read_request(BODIES[client])

    read = carried(endpoint, call)

    sent = pictures(call.turns[0].parts)
    expected = [data for data in sent if data != WEB.url or endpoint not in BASE64_ONLY]
    assert pictures(read.turns[0].parts) == expected
    lost = kinds(endpoint, call).count(LossKind.IMAGE)
    assert lost == len(sent) - len(expected)


@pytest.mark.parametrize(("client", "endpoint"), PAIRS)
def test_a_picture_in_a_result_arrives(client: str, endpoint: str) -> None:
    """In the result if the format has a place there, else in a user turn right after it."""
    if client == "ollama":
        return
    call = FORMATS[client].read_request(BODIES[client])

    read = carried(endpoint, call)

    (result,) = read.turns[2].results
    assert "Here" in result.content
    if endpoint in TEXT_RESULTS and client != endpoint:
        assert pictures(result.parts) == []
        assert read.turns[3].role is Role.USER
        assert pictures(read.turns[3].parts) == [JPEG]
        assert LossKind.IMAGE_MOVED in kinds(endpoint, call)
    else:
        assert pictures(result.parts) == [JPEG]
        assert LossKind.IMAGE_MOVED not in kinds(endpoint, call)
    assert LossKind.RESULT_BLOCKS not in kinds(endpoint, call)


@pytest.mark.parametrize("endpoint", sorted(TEXT_RESULTS))
def test_moved_pictures_follow_all_results_of_their_step(endpoint: str) -> None:
    """In order, with the call they belong to, and before what the user says next."""
    call = conversation(ONE, TWO)
    spoken = ask(*call.turns, Turn(Role.USER, (Text("And?"),)))

    read = carried(endpoint, call)
    said = carried(endpoint, spoken)

    results = [part for turn in read.turns for part in turn.results]
    assert [(part.call_id, part.content) for part in results] == [
        ("c1", FOLLOWS),
        ("c2", "nothing"),
    ]
    assert read.turns[-1].role is Role.USER
    assert pictures(read.turns[-1].parts) == [PNG, JPEG]
    assert "c1" in str(read.turns[-1].parts[0])
    assert pictures(said.turns[-1].parts) == [PNG, JPEG]
    assert [turn.role for turn in said.turns].count(Role.USER) == 2
    assert "And?" in "".join(part.text for part in said.turns[-1].parts if isinstance(part, Text))


@pytest.mark.parametrize("endpoint", ["anthropic", "openai_responses"])
def test_texts_and_pictures_of_a_result_keep_their_order(endpoint: str) -> None:
    """A picture between two texts stays there."""
    call = conversation(Text("a"), ONE, Text("b"))

    (result, _) = carried(endpoint, call).turns[2].results

    assert [type(part).__name__ for part in result.parts] == ["Text", "Image", "Text"]


def test_a_failed_result_with_a_picture_says_so() -> None:
    """Formats without an error flag say it in the text, wherever the picture is."""
    result = ToolResult("c1", "no", is_error=True, parts=(Text("no"), ONE))
    call = ask(Turn(Role.ASSISTANT, (CALL,)), Turn(Role.TOOL, (result,)))

    responses: Any = FORMATS["openai_responses"].write_request(call)
    chat: Any = FORMATS["openai"].write_request(call)
    claude: Any = FORMATS["anthropic"].write_request(call)

    assert responses["input"][1]["output"][0] == {"type": "input_text", "text": "Error:"}
    assert chat["messages"][1]["content"] == "Error: no"
    assert claude["messages"][1]["content"][0]["is_error"] is True


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_a_picture_in_an_answer_is_reported(format: str) -> None:
    """Only Gemini's models answer with pictures; elsewhere they are left out, visibly."""
    reply = Reply((Text("See"), ONE), Stop.END, id="r", model="m")
    adapter = FORMATS[format]

    body = json.dumps(adapter.write_reply(reply))

    assert (PNG in body) == (format == "gemini")
    losses = [loss.kind for loss in adapter.losses(reply)]
    assert losses == ([] if format == "gemini" else [LossKind.IMAGE])
    history = ask(Turn(Role.ASSISTANT, reply.parts))
    assert (PNG in json.dumps(adapter.write_request(history))) == (format == "gemini")


def test_a_picture_of_unknown_kind_is_not_given_one() -> None:
    """Ollama names no media type; one that the data does not show is not made up."""
    body: Any = {
        "model": "m",
        "messages": [{"role": "user", "content": "", "images": ["AAAA", PNG]}],
    }

    images = FORMATS["ollama"].read_request(body).turns[0].parts[1:]

    assert [image.media_type for image in images if isinstance(image, Image)] == [
        "application/octet-stream",
        "image/png",
    ]


@pytest.mark.parametrize("endpoint", sorted(FORMATS))
def test_the_sdk_accepts_the_pictures(endpoint: str) -> None:
    """The types of the official SDK validate pictures in turns and in results."""
    call = conversation(Text("a"), TWO)

    VALIDATORS[endpoint](json.loads(json.dumps(FORMATS[endpoint].write_request(call))))
