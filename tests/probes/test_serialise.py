from __future__ import annotations

import dataclasses
import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes import messages, serialise
from probes.errors import WireError
from probes.messages import (
    JSON,
    Breakage,
    BrokenCall,
    ClientTool,
    Deviation,
    ErrorKind,
    Generation,
    Image,
    JSONOutput,
    Location,
    ModelCall,
    Opaque,
    Part,
    Reasoning,
    ReasoningKind,
    Reply,
    ReplyError,
    Role,
    Stop,
    Text,
    Thinking,
    ThinkingMode,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Turn,
    Usage,
    VendorTool,
)
from probes.serialise import Value, from_json, to_json

texts = st.text(max_size=8)
json_values: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
objects = st.dictionaries(texts, json_values, max_size=2)
counts = st.none() | st.integers(0, 10)
flags = st.none() | st.booleans()
calls = st.builds(
    ToolCall,
    texts,
    texts,
    objects,
    texts,
    texts,
    st.lists(texts, max_size=2).map(tuple),
    st.sampled_from(Location),
    objects,
)
results = st.builds(
    ToolResult,
    texts,
    texts,
    st.booleans(),
    texts,
    st.lists(json_values, max_size=2).map(tuple),
    objects,
)
broken = st.builds(
    BrokenCall,
    texts,
    texts,
    st.sampled_from(Breakage),
    texts,
    texts,
    texts,
    texts,
    st.sampled_from(Location),
    st.booleans(),
)
reasonings = st.builds(Reasoning, texts, st.sampled_from(ReasoningKind), json_values)
parts: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, texts, objects),
    reasonings,
    calls,
    broken,
    results,
    st.builds(Opaque, texts, json_values),
)
part_tuples = st.lists(parts, max_size=3).map(tuple)
turns = st.builds(Turn, st.sampled_from(Role), part_tuples, texts, objects)
specs = st.builds(ToolSpec, texts, texts, st.none() | objects, flags, objects)
choices = st.builds(ToolChoice, texts, texts)
usages = st.builds(Usage, counts, counts, counts, counts)
deviations = st.builds(Deviation, texts, texts)
model_calls = st.builds(
    ModelCall,
    texts,
    st.lists(turns, max_size=2).map(tuple),
    st.lists(specs, max_size=2).map(tuple),
    counts,
    st.none() | choices,
    flags,
    st.booleans(),
    objects,
    objects,
)
replies = st.builds(
    Reply,
    part_tuples,
    st.sampled_from(Stop),
    usages,
    texts,
    st.none() | texts,
    st.none() | texts,
    st.none() | texts,
    st.lists(deviations, max_size=2).map(tuple),
    objects,
    objects,
)
values: st.SearchStrategy[Value] = st.one_of(
    parts, turns, specs, choices, usages, deviations, model_calls, replies
)


@given(values)
def test_every_value_comes_back_equal_from_storage(value: Value) -> None:
    """Through real JSON text: storage does not change a conversation."""
    stored = json.loads(json.dumps(to_json(value)))

    assert from_json(stored) == value


def test_what_equality_does_not_look_at_is_stored_too() -> None:
    """`Reply.raw` is not compared, but it is evidence."""
    reply = Reply((), Stop.END, raw={"choices": []})

    restored = from_json(to_json(reply))

    assert isinstance(restored, Reply)
    assert restored.raw == {"choices": []}


def test_every_type_and_field_of_the_values_is_stored() -> None:
    """A new field that is missing here would be lost from every stored conversation."""
    shapes = serialise._SHAPES
    kinds = {kind for kind in vars(messages).values() if dataclasses.is_dataclass(kind)}

    assert {kind for kind in kinds if isinstance(kind, type)} == set(shapes)
    for kind, shape in shapes.items():
        names = {item.name for item in dataclasses.fields(kind)}
        assert names == set(shape.readers), kind


def test_empty_reasoning_and_none_stay_different() -> None:
    """Empty reasoning differs from a missing field."""
    thought = Turn(Role.ASSISTANT, (Reasoning("", ReasoningKind.FIELD, "reasoning_content"),))

    assert from_json(to_json(thought)) == thought
    assert from_json(to_json(thought)) != Turn(Role.ASSISTANT, ())


def test_a_field_that_did_not_exist_yet_takes_its_default() -> None:
    """Old rows stay readable when a value gains a field."""
    assert from_json({"version": 1, "type": "text", "text": "a"}) == Text("a")


@pytest.mark.parametrize(
    ("data", "at"),
    [
        ([], "$"),
        (None, "$"),
        ({"type": "text", "text": "a"}, "$.version"),
        ({"version": 2, "type": "text", "text": "a"}, "$.version"),
        ({"version": 1}, "$.type"),
        ({"version": 1, "type": "video"}, "$.type"),
        ({"version": 1, "type": ["text"]}, "$.type"),
        ({"version": 1, "type": "text"}, "$.text"),
        ({"version": 1, "type": "text", "text": 3}, "$.text"),
        ({"version": 1, "type": "text", "text": "a", "new": 1}, "$.new"),
        ({"version": 1, "type": "turn", "role": "king", "parts": []}, "$.role"),
        ({"version": 1, "type": "turn", "role": [], "parts": []}, "$.role"),
        ({"version": 1, "type": "turn", "role": "user", "parts": {}}, "$.parts"),
        ({"version": 1, "type": "turn", "role": "user", "parts": [3]}, "$.parts[0]"),
        (
            {"version": 1, "type": "turn", "role": "user", "parts": [{"type": "usage"}]},
            "$.parts[0]",
        ),
        ({"version": 1, "type": "usage", "input_tokens": True}, "$.input_tokens"),
    ],
)
def test_stored_data_that_nobody_wrote_is_refused_with_its_place(data: JSON, at: str) -> None:
    """An unknown type is never guessed."""
    with pytest.raises(WireError) as caught:
        from_json(data)

    assert caught.value.at == at


@given(json_values)
def test_arbitrary_data_is_read_or_refused(data: JSON) -> None:
    """No other exception, whatever the data."""
    entry = cast("dict[str, JSON]", data if isinstance(data, dict) else {"type": data})
    with pytest.raises(WireError):
        from_json({**entry, "version": 1})


def test_what_a_gateway_carries_comes_back_equal_from_storage() -> None:
    """Options, pictures, typed tools and errors, as a stored request and a stored reply."""
    tool = ToolSpec("ns__f", "", None, client_tool=ClientTool("openai_responses", "f", "ns"))
    image = Image("image/png", "AAAA")
    thinking = Thinking(ThinkingMode.ON, "high", 9)
    generation = Generation(0.5, stop=("a",), thinking=thinking, output=JSONOutput({}), user="u")
    call = ModelCall(
        "m",
        (Turn(Role.USER, (image, ToolResult("c", "x", parts=(Text("x"), image)))),),
        (tool,),
        tool_choice=ToolChoice("auto", names=("ns__f",)),
        generation=generation,
        vendor_tools=(VendorTool("web", "web_search", "openai_responses", {"a": 1}, 2),),
    )
    error = ReplyError(ErrorKind.RATE_LIMIT, "slow", "429", 1.5)

    for value in (call, Reply((image,), Stop.ERROR, error=error)):
        assert from_json(json.loads(json.dumps(to_json(value)))) == value
