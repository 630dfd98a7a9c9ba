"""A client of vendors with faults, over real HTTP, and builders for its requests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import httpx

from probes.adapters import FORMATS
from probes.events import Event, ReplyEnded
from probes.messages import JSON, ModelCall, Reply, Role, Text, ToolSpec, Turn

# One vendor per wire format: mount, prefix of the path, model.
VENDORS = {
    "openai": ("/openai/v1", "", "sim-steady"),
    "openai_responses": ("/responses/v1", "", "sim-steady"),
    "anthropic": ("/anthropic", "", "sim-steady"),
    "gemini": ("/gemini", "", "sim-gemini-3"),
    "ollama": ("/ollama", "", "sim-steady:latest"),
    "vllm": ("/vllm", "/v1", "sim-steady"),
    "mistral": ("/mistral/v1", "", "sim-large"),
}
EVERY_FORMAT = ("openai", "openai_responses", "anthropic", "gemini", "ollama")
HEADERS = {
    "authorization": "Bearer sim-test",
    "x-api-key": "sim-test",
    "x-goog-api-key": "sim-test",
    "anthropic-version": "2023-06-01",
}


def tool(name: str, required: Sequence[str] = (), **properties: JSON) -> ToolSpec:
    schema: dict[str, JSON] = {"type": "object", "properties": properties}
    rest: dict[str, JSON] = {"required": list(required), "additionalProperties": False}
    return ToolSpec(name, f"The tool {name}.", {**schema, **rest})


TAG: JSON = {"type": "string", "enum": ["alpha", "beta"]}
INTEGER: JSON = {"type": "integer"}
ECHO = tool("probe_echo", ["message", "tag"], message={"type": "string"}, tag=TAG)
ADD = tool("probe_add", ["a", "b"], a=INTEGER, b=INTEGER)
PING = tool("probe_ping")
PERSON: JSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
STORE = tool("probe_store", ["person", "flag"], person=PERSON, flag={"type": "boolean"})

MESSAGE = 'naïve "amber" ☕'
ONE = f"Call probe_echo once.\nmessage: {MESSAGE}\ntag: beta"
TWO = (
    f"Do both in the same turn: call probe_echo with message '{MESSAGE}' and tag beta, and "
    "probe_add with a = 3 and b = 4."
)
BARE = "Call the tool probe_ping once. It takes no arguments."
ALL = (
    f"Do all in the same turn: call probe_echo with message '{MESSAGE}' and tag beta, probe_ping "
    'without arguments, and probe_store with person {"name": "Zoë", "age": 7} and flag true.'
)
NESTED = 'Call probe_store once.\nperson: {"name": "Zoë", "age": 7}\nflag: true'
CHAT = "Reply with exactly: 'good morning'"
ECHOED = ("probe_echo", {"message": MESSAGE, "tag": "beta"})
ADDED = ("probe_add", {"a": 3, "b": 4})
STORED = ("probe_store", {"person": {"name": "Zoë", "age": 7}, "flag": True})
PINGED: tuple[str, dict[str, Any]] = ("probe_ping", {})


def question(prompt: str, *tools: ToolSpec, **options: JSON) -> ModelCall:
    turns = (Turn(Role.USER, (Text(prompt),)),)
    return ModelCall("", turns, tools=tools or (ECHO, ADD), options=options)


@dataclass(frozen=True, slots=True)
class FaultyVendor:
    """The simulated vendors with some faults switched on."""

    url: str
    switches: str

    def ask(self, vendor: str, call: ModelCall, *, stream: bool = False) -> httpx.Response:
        """The raw answer."""
        mount, prefix, model = VENDORS[vendor]
        adapter = FORMATS.get(vendor) or FORMATS["openai"]
        path = (adapter.stream_path if stream else adapter.path).replace("{model}", model)
        body = adapter.write_request(replace(call, model=model, stream=stream))
        # Ollama streams by default.
        body |= {"stream": stream} if vendor == "ollama" else {}
        address = f"{self.url}/with/{self.switches}{mount}{prefix}{path}"
        return httpx.post(address, json=body, headers=HEADERS, trust_env=False, timeout=30)

    def read_body(self, vendor: str, call: ModelCall) -> Any:
        """The body of an answer that is not streamed."""
        answer = self.ask(vendor, call)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def read_reply(self, vendor: str, call: ModelCall, *, stream: bool = False) -> Reply:
        """The answer as our adapter parses it."""
        adapter = FORMATS.get(vendor) or FORMATS["openai"]
        if not stream:
            return adapter.read_reply(self.read_body(vendor, call))
        answer = self.ask(vendor, call, stream=True)
        assert answer.status_code == 200, answer.text
        reader = adapter.read_stream()
        events: list[Event] = [*reader.feed(answer.content), *reader.close()]
        last = events[-1]
        assert isinstance(last, ReplyEnded)
        return last.reply


def read_frames(answer: httpx.Response) -> list[Any]:
    """The bodies of a stream's events or lines."""
    lines = (line.removeprefix("data: ") for line in answer.text.splitlines())
    return [json.loads(line) for line in lines if line.startswith("{")]


def read_calls(reply: Reply) -> list[tuple[str, dict[str, Any]]]:
    """The calls of a reply as names and arguments."""
    return [(call.name, dict(call.input)) for call in reply.calls]
