"""Bodies of the Anthropic format, fixed and generated."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.probes.adapters.wire_bodies import (
    counts,
    fields,
    ids,
    names,
    objects,
    schemas,
    short_texts,
    values,
)

USE = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}}


def message(*blocks: Any, stop: Any = "end_turn", **over: Any) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": list(blocks),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 7},
        **over,
    }


text_blocks = fields({"type": st.just("text"), "text": short_texts})
thinking_blocks = fields(
    {"type": st.just("thinking"), "thinking": short_texts, "signature": short_texts}
) | fields({"type": st.just("redacted_thinking"), "data": short_texts})
call_blocks = fields({"type": st.just("tool_use"), "id": ids, "name": names, "input": objects})
other_blocks = fields({"type": st.sampled_from(["image", "document"]), "source": objects})
result_contents = short_texts | st.lists(text_blocks, min_size=2, max_size=3)
result_blocks = fields(
    {"type": st.just("tool_result"), "tool_use_id": ids, "content": result_contents},
    {"is_error": st.just(True)},
)
user_contents = short_texts | st.builds(
    lambda blocks, more: [*blocks, *more],
    st.lists(result_blocks, min_size=1, max_size=3),
    st.lists(text_blocks | other_blocks, max_size=2),
)
assistant_contents = short_texts | st.builds(
    lambda one, more: [*more, one],
    call_blocks,
    st.lists(text_blocks | thinking_blocks | call_blocks, max_size=4),
)
pairs = st.tuples(user_contents, assistant_contents)
tool_entries = fields(
    {"name": names, "input_schema": schemas},
    {"description": short_texts, "strict": st.booleans(), "cache_control": objects},
)
choices = st.sampled_from(
    [
        {"type": "auto"},
        {"type": "any", "disable_parallel_tool_use": True},
        {"type": "tool", "name": "f", "disable_parallel_tool_use": False},
        {"type": "none"},
        {"type": "auto", "x_more": 1},
    ]
)


@st.composite
def requests(draw: Any) -> dict[str, Any]:
    """A request as a conforming client would send it."""
    body: dict[str, Any] = draw(
        fields(
            {"model": short_texts, "max_tokens": counts},
            {
                "system": short_texts | st.lists(text_blocks, min_size=2, max_size=3),
                "stream": st.just(True),
                "temperature": st.just(0.5),
                "metadata": values.filter(lambda value: value is not None),
            },
        )
    )
    body["messages"] = [
        {"role": role, "content": content}
        for pair in draw(st.lists(pairs, min_size=1, max_size=3))
        for role, content in zip(("user", "assistant"), pair, strict=True)
    ]
    if draw(st.booleans()):
        body["tools"] = draw(st.lists(tool_entries, min_size=1, max_size=3))
        body["tool_choice"] = draw(choices)
    return body


usages = fields(
    {"input_tokens": counts, "output_tokens": counts},
    {"cache_read_input_tokens": counts, "cache_creation_input_tokens": counts},
)


@st.composite
def messages(draw: Any) -> dict[str, Any]:
    """An answer as a conforming server would send it."""
    blocks = draw(
        st.lists(
            text_blocks | thinking_blocks | call_blocks,
            max_size=4,
            unique_by=lambda block: block.get("id", id(block)),
        )
    )
    called = any(block["type"] == "tool_use" for block in blocks)
    body: dict[str, Any] = draw(
        fields({"id": ids, "model": short_texts, "usage": usages}, {"stop_sequence": short_texts})
    )
    reason = "tool_use" if called else draw(st.sampled_from(["end_turn", "refusal", "max_tokens"]))
    return {"stop_sequence": None, **body, **message(*blocks, stop=reason) | body}
