"""Handwritten requests to a vendor with faults, and our classification of its refusals."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from probes.adapters import FORMATS
from probes.adapters.json_fields import object_or_empty
from probes.dialects.anthropic import ANTHROPIC
from probes.dialects.base import Dialect
from probes.dialects.gemini import GEMINI
from probes.dialects.ollama import OLLAMA
from probes.dialects.openai import OPENAI, OPENAI_RESPONSES
from probes.errors import Refused
from probes.http_messages import Chunk, WireResponse
from probes.http_reply import read_http_reply
from probes.messages import JSON
from tests.simulators.fault_client import HEADERS, VENDORS

DIALECTS: Mapping[str, Dialect] = {
    "openai": OPENAI,
    "openai_responses": OPENAI_RESPONSES,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
    "ollama": OLLAMA,
}


def post(url: str, switches: str, vendor: str, body: Mapping[str, Any]) -> httpx.Response:
    """Send a body to a format's vendor, with its model."""
    mount, prefix, model = VENDORS[vendor]
    adapter = FORMATS.get(vendor) or FORMATS["openai"]
    path = adapter.path.replace("{model}", model)
    defaults: dict[str, Any] = {"stream": False} if vendor == "ollama" else {}
    if vendor == "anthropic":
        defaults = {"max_tokens": 4000}
    if vendor != "gemini":
        defaults["model"] = model
    address = f"{url}/with/{switches}{mount}{prefix}{path}"
    return httpx.post(
        address, json={**defaults, **body}, headers=HEADERS, trust_env=False, timeout=30
    )


def classify_refusal(vendor: str, answer: httpx.Response) -> str:
    """Our classification of a refusal, from its status and bytes."""
    adapter = FORMATS.get(vendor) or FORMATS["openai"]
    incoming = WireResponse(answer.status_code, dict(answer.headers), (Chunk(0, answer.content),))
    with pytest.raises(Refused) as caught:
        read_http_reply(adapter, incoming)
    return str(caught.value.kind)


def error_message(answer: httpx.Response) -> str:
    """The message of an error in its format's envelope."""
    error = answer.json()["error"]
    return str(error if isinstance(error, str) else error["message"])


@dataclass(frozen=True, slots=True)
class WireCall:
    """A call in a body or an event; `id` is None if it has none."""

    id: JSON
    name: str
    arguments: Any


def wire_calls(value: JSON) -> list[WireCall]:
    """The calls of a body in order, in any format."""
    if isinstance(value, list):
        return [call for inner in value for call in wire_calls(inner)]
    if not isinstance(value, Mapping):
        return []
    if (call := _read_call(value)) is not None:
        return [call]
    # The Responses API repeats the tools, and streams every item more than once.
    if value.get("type") in ("response.output_item.added", "response.completed"):
        return []
    return [call for key in value if key != "tools" for call in wire_calls(value[key])]


def _read_call(entry: Mapping[str, JSON]) -> WireCall | None:
    match entry:
        case {"type": "function_call", "name": str(name), "arguments": arguments}:
            id_ = entry.get("call_id")
        case {"type": "tool_use", "name": str(name), "input": arguments}:
            id_ = entry.get("id")
        case {"function": {"name": str(name), "arguments": arguments}}:
            id_ = entry.get("id")
        case {"functionCall": {"name": str(name), "args": arguments}}:
            id_ = object_or_empty(entry["functionCall"]).get("id")
        case _:
            return None
    is_json = isinstance(arguments, str) and arguments.startswith("{")
    return WireCall(id_, name, json.loads(str(arguments)) if is_json else arguments)


# Handwritten histories.
USER = {"role": "user", "content": "hi"}
FUNCTION = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
TOOLS = {"tools": [FUNCTION]}
CLAUDE_TOOLS = {"tools": [{"name": "f", "input_schema": {"type": "object"}}]}


def call(id_: str, arguments: str = "{}") -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": "f", "arguments": arguments}}


def assistant_calls(*calls: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def result(id_: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": "r"}


def chat(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), **more}


def tool_use(id_: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": "f", "input": {}}


def assistant_blocks(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def tool_results(*ids: str) -> dict[str, Any]:
    blocks = [{"type": "tool_result", "tool_use_id": id_, "content": "r"} for id_ in ids]
    return {"role": "user", "content": blocks}


def item(id_: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": id_, "name": "f", "arguments": "{}"}


def output(id_: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": id_, "output": "r"}


def contents(*turns: tuple[str, list[Any]]) -> dict[str, Any]:
    return {"contents": [{"role": role, "parts": parts} for role, parts in turns]}


G_USER = ("user", [{"text": "hi"}])
G_CALL = {"functionCall": {"name": "f", "args": {}, "id": "x"}}
G_SIGNED = {**G_CALL, "thoughtSignature": "skip_thought_signature_validator"}
G_RESULT = {"functionResponse": {"name": "f", "id": "x", "response": {"output": "r"}}}
HISTORY = chat(USER, assistant_calls(call("call_X")), result("call_X"))
CLAUDE_HISTORY = chat(USER, assistant_blocks(tool_use("toolu_X")), tool_results("toolu_X"))
ITEMS = {"input": [USER, item("call_X"), output("call_X")]}
G_HISTORY = contents(G_USER, ("model", [G_SIGNED]), ("user", [G_RESULT]))
