"""Bodies of the Ollama format, fixed and generated."""

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
)

CALL: dict[str, Any] = {
    "id": "call_ab12cd34",
    "function": {"index": 0, "name": "f", "arguments": {"a": 1}},
}


def answer(content: str = "", reason: str | None = "stop", **message: Any) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": "m",
        "created_at": "2026-11-01T00:00:00Z",
        "message": {"role": "assistant", "content": content, **message},
        "done": True,
        "prompt_eval_count": 9,
        "eval_count": 7,
    }
    return body | ({"done_reason": reason} if reason else {})


calls = fields(
    {"function": fields({"name": names, "arguments": objects}, {"index": counts})}, {"id": ids}
)
message = fields(
    {"role": st.just("assistant"), "content": short_texts},
    {"thinking": short_texts, "tool_calls": st.lists(calls, min_size=1, max_size=3)},
)
messages = (
    message
    | fields(
        {"role": st.sampled_from(["user", "system"]), "content": short_texts},
        {"images": st.lists(short_texts, min_size=1, max_size=2)},
    )
    | fields(
        {"role": st.just("tool"), "content": short_texts}, {"tool_name": names, "tool_call_id": ids}
    ).map(lambda message: {"tool_name": "f", **message})
)
tools = fields(
    {
        "type": st.just("function"),
        "function": fields({"name": names, "description": short_texts}, {"parameters": schemas}),
    }
)
requests = fields(
    {"model": short_texts, "messages": st.lists(messages, max_size=6), "stream": st.booleans()},
    {
        "tools": st.lists(tools, min_size=1, max_size=3),
        "options": fields({"num_predict": counts}, {"temperature": st.just(0.5)}),
        "think": st.booleans() | st.just("high"),
        "format": st.just("json"),
        "keep_alive": st.just("5m"),
    },
)


@st.composite
def answers(draw: Any) -> dict[str, Any]:
    """An answer as a conforming server would send it."""
    body: dict[str, Any] = draw(
        fields(
            {
                "model": short_texts,
                "message": message,
                "done": st.just(True),
                "prompt_eval_count": counts,
                "eval_count": counts,
            },
            {"created_at": short_texts, "total_duration": counts},
        )
    )
    called = "tool_calls" in body["message"]
    reasons = ["stop"] if called else ["stop", "length", "load"]
    return body | {"done_reason": draw(st.sampled_from(reasons))}
