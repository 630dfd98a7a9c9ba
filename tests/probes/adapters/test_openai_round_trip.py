from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from probes.adapters.base import write_event_stream
from probes.adapters.openai_chat.adapter import OpenAIChatAdapter
from probes.messages import JSON
from probes.streams.assembler import reply_events
from tests.probes.adapters.openai_bodies import check_events, read_events, read_reply

CHAT = OpenAIChatAdapter()

TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
CONTENT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
NAMES = st.text("abcdefgh_", min_size=1, max_size=6)
NUMBERS = st.integers(0, 10**6)
PLAIN: st.SearchStrategy[Any] = st.none() | st.booleans() | NUMBERS | TEXTS
OBJECTS: st.SearchStrategy[Any] = st.dictionaries(NAMES, PLAIN | st.lists(PLAIN), max_size=3)
# Unknown fields.
UNKNOWN = st.dictionaries(NAMES.map(lambda name: f"x_{name}"), PLAIN | OBJECTS, max_size=2)


def record(
    required: dict[str, st.SearchStrategy[Any]], **optional: st.SearchStrategy[Any]
) -> st.SearchStrategy[dict[str, Any]]:
    """Objects of a shape, each with fields that are not part of it."""
    fields = st.fixed_dictionaries(required, optional=optional)
    return st.builds(lambda known, unknown: {**unknown, **known}, fields, UNKNOWN)


ARGUMENTS = OBJECTS.map(json.dumps) | st.just("")
FUNCTION = record({"name": NAMES, "arguments": ARGUMENTS})
CALL = record({"id": NAMES, "type": st.just("function"), "function": FUNCTION})
CUSTOM = st.fixed_dictionaries(
    {"id": NAMES, "type": st.just("custom"), "custom": st.just({"name": "sh", "input": "ls"})}
)
TEXT_PART = record({"type": st.just("text"), "text": TEXTS})
IMAGE = st.just({"type": "image_url", "image_url": {"url": "data:"}})
PARTS = st.lists(TEXT_PART | IMAGE, min_size=2, max_size=3)
PLAIN_PARTS = st.lists(
    TEXTS.map(lambda text: {"type": "text", "text": text}), min_size=2, max_size=3
)
DETAILS = st.lists(record({"type": st.just("reasoning.text"), "text": TEXTS}), max_size=2)

ASSISTANT = record(
    {"role": st.just("assistant"), "content": st.none() | TEXTS,
     "tool_calls": st.lists(CALL | CUSTOM, min_size=1, max_size=3)},
    reasoning_content=TEXTS, reasoning=TEXTS, reasoning_details=DETAILS, refusal=st.none() | TEXTS,
    name=NAMES,
)  # fmt: skip
ANSWER = record({"role": st.just("assistant"), "content": TEXTS}, reasoning_content=TEXTS)
RESULT = record(
    {"role": st.just("tool"), "tool_call_id": NAMES, "content": TEXTS | PLAIN_PARTS | PARTS},
    name=NAMES,
)
CALLS = record(
    {"role": st.sampled_from(["user", "system", "developer"]), "content": TEXTS | PARTS},
    name=NAMES,
)
TOOL = record(
    {"type": st.just("function"),
     "function": record({"name": NAMES}, description=CONTENT, parameters=OBJECTS,
                        strict=st.booleans())}
)  # fmt: skip
OTHER_TOOL = st.just({"type": "custom", "custom": {"name": "sh"}})
CHOICE = st.sampled_from(
    ["auto", "none", "required", "any", {"type": "function", "function": {"name": "f"}},
     {"type": "allowed_tools", "allowed_tools": {"mode": "auto"}}]
)  # fmt: skip
REQUEST = record(
    {"model": NAMES, "messages": st.lists(ASSISTANT | ANSWER | RESULT | CALLS, max_size=5)},
    tools=st.lists(TOOL | OTHER_TOOL, min_size=1, max_size=3), tool_choice=CHOICE,
    parallel_tool_calls=st.booleans(), max_completion_tokens=NUMBERS, stream=st.just(True),
    temperature=NUMBERS, stream_options=OBJECTS,
)  # fmt: skip

USAGE = st.builds(
    lambda input_tokens, output_tokens, more: {
        "prompt_tokens": input_tokens, "completion_tokens": output_tokens,
        "total_tokens": input_tokens + output_tokens, **more
    },
    NUMBERS, NUMBERS,
    st.fixed_dictionaries({}, optional={
        "prompt_tokens_details": st.just({"cached_tokens": 3, "audio_tokens": 0}),
        "completion_tokens_details": st.just({"reasoning_tokens": 5}),
    }),
)  # fmt: skip
CALLING = record(
    {"role": st.just("assistant"), "content": st.none() | CONTENT,
     "tool_calls": st.lists(CALL, min_size=1, max_size=3)},
    reasoning_content=TEXTS, reasoning_details=DETAILS,
)  # fmt: skip
SPEAKING = record(
    {"role": st.just("assistant"), "content": TEXTS},
    reasoning_content=TEXTS, refusal=st.none(), annotations=st.just([]),
)  # fmt: skip
# Empty content beside calls or a refusal cannot be distinguished from none in a stream.
REFUSING = record(
    {"role": st.just("assistant"), "content": st.none() | CONTENT, "refusal": CONTENT}
)


def reply_body(message: dict[str, Any], finish: str, root: Any, choice: Any) -> dict[str, Any]:
    finish = "tool_calls" if "tool_calls" in message else finish
    first = {**choice, "index": 0, "message": message, "finish_reason": finish}
    return {**root, "object": "chat.completion", "choices": [first]}


REPLY = st.builds(
    reply_body,
    CALLING | SPEAKING | REFUSING,
    st.sampled_from(["stop", "length", "content_filter"]),
    record({"id": NAMES, "created": st.integers(1, 99), "model": NAMES}, usage=USAGE,
           system_fingerprint=NAMES),
    st.fixed_dictionaries({}, optional={"logprobs": st.none() | st.just({"content": [1, 2]})}),
)  # fmt: skip


@given(REQUEST)
def test_a_request_is_written_as_it_was_read(body: JSON) -> None:
    """Nothing is lost, unknown fields of every level included."""
    assert CHAT.write_request(CHAT.read_request(body)) == body


@given(REPLY)
def test_a_reply_is_written_as_it_was_read(body: JSON) -> None:
    """The client gets what the endpoint sent."""
    assert CHAT.write_reply(CHAT.read_reply(body)) == body


@given(REPLY, st.integers(1, 40))
def test_a_reply_streamed_is_the_reply_read_whole(body: JSON, size: int) -> None:
    """Whole, to values, to a stream, to values: equal, however it is cut."""
    reply = CHAT.read_reply(body)

    streamed = read_reply(CHAT, b"".join(write_event_stream(CHAT, reply_events(reply))), size)

    assert streamed == reply


@given(REPLY)
def test_a_stream_is_written_as_it_was_read(body: JSON) -> None:
    """Stream, to events, to a stream: the second reading equals the first."""
    wire = b"".join(write_event_stream(CHAT, reply_events(CHAT.read_reply(body))))
    events = read_events(CHAT, wire)

    rewritten = b"".join(write_event_stream(CHAT, events))

    assert read_reply(CHAT, rewritten) == check_events(events)


@given(REPLY | REQUEST)
def test_the_own_format_loses_nothing(body: Any) -> None:
    """Everything read in this format can be written in it."""
    value = CHAT.read_reply(body) if "choices" in body else CHAT.read_request(body)

    assert CHAT.losses(value) == []
