"""Exchanges as evidence keeps them: what is not named is ordinary."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

TOOL = {
    "type": "function",
    "function": {
        "name": "probe_echo",
        "description": "Echo.",
        "parameters": {
            "type": "object",
            "properties": {
                "message": {"type": "string"},
                "tag": {"type": "string", "enum": ["alpha", "beta"]},
            },
            "required": ["message", "tag"],
        },
    },
}


def a_request(*messages: dict[str, Any], **over: Any) -> dict[str, Any]:
    asked = messages or ({"role": "user", "content": "Call probe_echo."},)
    body = {"model": "m", "messages": list(asked), "tools": [TOOL], **over}
    return {
        "method": "POST",
        "url": "http://127.0.0.1:9/v1/chat/completions",
        "headers": {"content-type": "application/json"},
        "body": json.dumps(body, ensure_ascii=False),
        "truncated": False,
    }


def a_reply(message: dict[str, Any], *, id: str = "chatcmpl-1", **over: Any) -> dict[str, Any]:
    """A whole answer of Chat Completions."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    body = {"id": id, "created": 1, "model": "m", "choices": [choice]}
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return in_chunks([json.dumps({**body, "usage": usage}, ensure_ascii=False)], **over)


def in_chunks(texts: Sequence[str], **over: Any) -> dict[str, Any]:
    return {
        "status": 200,
        "http_version": "HTTP/1.1",
        "headers": {"content-type": "application/json"},
        "chunks": [{"ms": 10 * number, "text": text} for number, text in enumerate(texts, 1)],
        "bytes": sum(len(text.encode("utf-8", "surrogatepass")) for text in texts),
        "first_byte_ms": 10,
        "total_ms": 10 * len(texts),
        "truncated": False,
        **over,
    }


def a_call(**over: Any) -> dict[str, Any]:
    given = {"message": "hello there", "tag": "gamma"}
    call = {"id": "call_1", "name": "probe_echo", "input": given, "raw": json.dumps(given)}
    return {**call, "format": "openai", "repairs": [], **over}


def on_the_wire(call: dict[str, Any]) -> dict[str, Any]:
    """A message that makes the call."""
    function = {"name": call["name"], "arguments": call["raw"]}
    return {
        "content": None,
        "tool_calls": [{"id": call["id"], "type": "function", "function": function}],
    }


def an_exchange(**over: Any) -> dict[str, Any]:
    """Asked for one call, and the call came with a tag that is not among those offered."""
    call = a_call()
    made = {"request": a_request(), "reply": a_reply(on_the_wire(call)), "calls": [call]}
    return {"label": "asked", **made, "error": None, **over}


def evidence(*exchanges: dict[str, Any]) -> dict[str, Any]:
    return {"exchanges": list(exchanges), "findings": []}
