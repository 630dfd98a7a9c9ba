"""The vendors of the wire tests: their answers, and a conversation of two questions.

Every conversation is the same: a question, two parallel calls, one of which fails, one call without
arguments, a text answer; then a second question and one more call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from probes.adapters import FORMATS, Adapter
from probes.dialects import Dialect, dialect_named
from probes.history.model_conversation import Conversation, PreparedCall, SendOptions
from probes.messages import JSON, REQUIRED, ModelCall, ToolResult, ToolSpec

CITY: dict[str, JSON] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
EMPTY: dict[str, JSON] = {"type": "object", "properties": {}}
WEATHER = ToolSpec("weather", "Weather of a city.", CITY)
CLOCK = ToolSpec("clock", "The time.", None)
QUESTION = ModelCall("m", (), (WEATHER, CLOCK), 64, tool_choice=REQUIRED)
PARIS, ROME, OSLO = ('{"city": "Pâris"}', '{"city": "Rome"}', '{"city": "Oslo"}')


@dataclass(frozen=True)
class Vendor:
    """One vendor: the name of its dialect, its wire format, and its answers."""

    dialect_name: str
    format: str
    answers: tuple[JSON, ...]

    @property
    def dialect(self) -> Dialect:
        return dialect_named(self.dialect_name)

    @property
    def adapter(self) -> Adapter:
        return FORMATS[self.format]


def ask(vendor: Vendor, conversation: Conversation, answer: JSON) -> None:
    """Add an answer of the vendor, read from the wire."""
    reply = vendor.adapter.read_reply(json.loads(json.dumps(answer)))
    conversation.add_reply(reply, vendor.dialect_name)


def answer_calls(conversation: Conversation, *contents: str) -> None:
    """Results for all pending calls, the last first; content that begins with `!` is an error."""
    results = [
        ToolResult(call.id, content.removeprefix("!"), content.startswith("!"), call.name)
        for call, content in zip(conversation.pending, contents, strict=True)
    ]
    conversation.add_results(results[::-1])


def first_question(vendor: Vendor) -> Conversation:
    """The conversation up to the text answer."""
    conversation = Conversation()
    conversation.add_system("Be brief.")
    conversation.add_user("Weather in Paris and Rome?")
    ask(vendor, conversation, vendor.answers[0])
    answer_calls(conversation, "18", "!no station")
    ask(vendor, conversation, vendor.answers[1])
    answer_calls(conversation, "noon")
    ask(vendor, conversation, vendor.answers[2])
    return conversation


def two_questions(vendor: Vendor) -> Conversation:
    """The whole conversation; the next answer is the vendor's."""
    conversation = first_question(vendor)
    conversation.add_user("And Oslo?")
    ask(vendor, conversation, vendor.answers[3])
    answer_calls(conversation, "7")
    return conversation


def prepare(
    conversation: Conversation, vendor: Vendor, question: ModelCall = QUESTION, **how: Any
) -> PreparedCall:
    sending = SendOptions(vendor.dialect, vendor.dialect_name, **how)
    return conversation.to_call(question, sending)


def send(
    conversation: Conversation, vendor: Vendor, question: ModelCall = QUESTION, **how: Any
) -> dict[str, Any]:
    """The request body, as the endpoint decodes it."""
    prepared = prepare(conversation, vendor, question, **how)
    body = vendor.adapter.write_request(prepared.call)
    decoded: dict[str, Any] = json.loads(json.dumps(body))
    return decoded


# Answers and messages of Chat Completions.


def chat(*messages: Mapping[str, JSON]) -> tuple[JSON, ...]:
    return tuple(
        {
            "id": f"chatcmpl-{index}",
            "object": "chat.completion",
            "created": 1,
            "model": "m-2026",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", **message},
                    "finish_reason": "tool_calls" if message.get("tool_calls") else "stop",
                }
            ],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        for index, message in enumerate(messages)
    )


def tool_call_entry(id_: str, name: str, arguments: str, **more: JSON) -> dict[str, JSON]:
    function: dict[str, JSON] = {"name": name, "arguments": arguments}
    return {"id": id_, "type": "function", "function": function, **more}


def chat_answers(ids: Sequence[str], thoughts: Sequence[Mapping[str, JSON]]) -> tuple[JSON, ...]:
    """The four answers of a vendor that differs only in its ids and its reasoning."""
    first: JSON = [
        tool_call_entry(ids[0], "weather", PARIS),
        tool_call_entry(ids[1], "weather", ROME),
    ]
    return chat(
        {"content": "I look.", "tool_calls": first, **thoughts[0]},
        {"content": None, "tool_calls": [tool_call_entry(ids[2], "clock", "")], **thoughts[1]},
        {"content": "18 at noon.", **thoughts[2]},
        {"content": "", "tool_calls": [tool_call_entry(ids[3], "weather", OSLO)], **thoughts[3]},
    )


def reasoning_fields(*texts: str | None, name: str = "reasoning_content") -> list[dict[str, JSON]]:
    """A reasoning field for each answer; None if the answer has none."""
    return [{} if text is None else {name: text} for text in texts]


def chat_messages(
    ids: Sequence[str], thoughts: Sequence[Mapping[str, JSON]]
) -> list[dict[str, JSON]]:
    """The conversation in Chat Completions form, for any vendor."""
    first: JSON = [
        tool_call_entry(ids[0], "weather", PARIS),
        tool_call_entry(ids[1], "weather", ROME),
    ]
    return [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather in Paris and Rome?"},
        {"role": "assistant", "content": "I look.", "tool_calls": first, **thoughts[0]},
        {"role": "tool", "tool_call_id": ids[1], "content": "Error: no station"},
        {"role": "tool", "tool_call_id": ids[0], "content": "18"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [tool_call_entry(ids[2], "clock", "{}")],
            **thoughts[1],
        },
        {"role": "tool", "tool_call_id": ids[2], "content": "noon"},
        {"role": "assistant", "content": "18 at noon.", **thoughts[2]},
        {"role": "user", "content": "And Oslo?"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [tool_call_entry(ids[3], "weather", OSLO)],
            **thoughts[3],
        },
        {"role": "tool", "tool_call_id": ids[3], "content": "7"},
    ]


def chat_tools(*, strict: Mapping[str, JSON] | None = None) -> list[dict[str, JSON]]:
    """Both tools; the one without parameters has an empty object schema."""
    more = dict(strict or {})
    return [
        {
            "type": "function",
            "function": {
                "name": "weather",
                "description": "Weather of a city.",
                "parameters": CITY,
                **more,
            },
        },
        {
            "type": "function",
            "function": {"name": "clock", "description": "The time.", "parameters": EMPTY, **more},
        },
    ]
