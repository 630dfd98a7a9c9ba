"""Exchanges in the format of stored evidence, with ordinary defaults."""

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


def build_request(*messages: dict[str, Any], **over: Any) -> dict[str, Any]:
    all_messages = messages or ({"role": "user", "content": "Call probe_echo."},)
    body = {"model": "m", "messages": list(all_messages), "tools": [TOOL], **over}
    return {
        "method": "POST",
        "url": "http://127.0.0.1:9/v1/chat/completions",
        "headers": {"content-type": "application/json"},
        "body": json.dumps(body, ensure_ascii=False),
        "truncated": False,
    }


def build_reply(message: dict[str, Any], *, id: str = "chatcmpl-1", **over: Any) -> dict[str, Any]:
    """A complete Chat Completions reply that is not streamed."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    body = {"id": id, "created": 1, "model": "m", "choices": [choice]}
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return build_chunked_reply([json.dumps({**body, "usage": usage}, ensure_ascii=False)], **over)


def build_chunked_reply(texts: Sequence[str], **over: Any) -> dict[str, Any]:
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


def build_call(**over: Any) -> dict[str, Any]:
    arguments = {"message": "hello there", "tag": "gamma"}
    call = {"id": "call_1", "name": "probe_echo", "input": arguments, "raw": json.dumps(arguments)}
    return {**call, "format": "openai", "repairs": [], **over}


def build_call_message(call: dict[str, Any]) -> dict[str, Any]:
    """An assistant message with the call."""
    function = {"name": call["name"], "arguments": call["raw"]}
    return {
        "content": None,
        "tool_calls": [{"id": call["id"], "type": "function", "function": function}],
    }


def build_exchange(**over: Any) -> dict[str, Any]:
    """An exchange whose only call has a tag that the schema does not allow."""
    call = build_call()
    parts = {
        "request": build_request(),
        "reply": build_reply(build_call_message(call)),
        "calls": [call],
    }
    return {"label": "asked", **parts, "error": None, **over}


def build_evidence(*exchanges: dict[str, Any]) -> dict[str, Any]:
    return {"exchanges": list(exchanges), "findings": []}
