"""A client of one vendor with faults, over real HTTP: the bytes, and the parsed reply."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from probes.adapters import FORMATS
from probes.events import ReplyEnded
from probes.messages import JSON, ModelCall, Reply, Role, Text, ToolSpec, Turn
from probes.secret import Secret
from tests.simulators.conversation import PROMPT, TOOLS

PROSE = "How are you?"
SCHEMAS: Mapping[str, Any] = TOOLS
SPECS = tuple(ToolSpec(name, name, schema) for name, schema in SCHEMAS.items())


@dataclass(frozen=True, slots=True)
class StreamClient:
    """A vendor, and the model and options of its requests."""

    format: str
    path: str
    model: str
    options: Mapping[str, JSON]

    def whole(self, url: str, switches: str = "", *turns: Turn) -> Reply:
        """The answer that is not streamed."""
        response = self._post(url, switches, turns, stream=False)
        response.raise_for_status()
        return FORMATS[self.format].read_reply(response.json())

    def streamed(self, url: str, switches: str = "", *turns: Turn) -> StreamedAnswer:
        """The answer as a stream."""
        response = self._post(url, switches, turns, stream=True)
        response.raise_for_status()
        return StreamedAnswer(self.format, tuple(response.extensions["chunks"]))

    def _post(
        self, url: str, switches: str, turns: tuple[Turn, ...], *, stream: bool
    ) -> httpx.Response:
        adapter = FORMATS[self.format]
        call = ModelCall(self.model, turns or (user_turn(),), SPECS, stream=stream)
        body = {**adapter.write_request(call), **self.options}
        path = (adapter.stream_path if stream else adapter.path).format(model=self.model)
        prefix = f"/with/{switches}" if switches else ""
        address = f"{url}{prefix}{self.path}{path}"
        headers = adapter.headers(Secret("sim-key"))
        with (
            httpx.Client(trust_env=False) as client,
            client.stream("POST", address, json=body, headers=headers) as response,
        ):
            response.extensions["chunks"] = [] if not stream else list(response.iter_raw())
            if not stream:
                response.read()
            return response


@dataclass(frozen=True, slots=True)
class StreamedAnswer:
    """A streamed answer: the bytes of each read."""

    format: str
    chunks: tuple[bytes, ...]

    @property
    def data(self) -> bytes:
        return b"".join(self.chunks)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The JSON of every event or line."""
        lines = (line.removeprefix(b"data:").strip() for line in self.data.splitlines())
        return [json.loads(line) for line in lines if line.startswith(b"{")]

    @property
    def types(self) -> list[str]:
        return [body["type"] for body in self.bodies]

    @property
    def reply(self) -> Reply:
        """The reply that our reader parses, read by read."""
        reader = FORMATS[self.format].read_stream()
        events = [event for chunk in self.chunks for event in reader.feed(chunk)]
        last = [*events, *reader.close()][-1]
        assert isinstance(last, ReplyEnded)
        return last.reply

    @property
    def deviations(self) -> set[str]:
        return {deviation.name for deviation in self.reply.deviations}


def user_turn(prompt: str = PROMPT) -> Turn:
    return Turn(Role.USER, (Text(prompt),))


def read_calls(reply: Reply) -> list[tuple[str, dict[str, JSON]]]:
    """The calls of a reply as names and arguments."""
    return [(call.name, dict(call.input)) for call in reply.calls]


THINKING: Mapping[str, JSON] = {"type": "enabled", "budget_tokens": 2000}
CHAT = StreamClient("openai", "/open/v1", "sim-steady", {})
THINKER = StreamClient("openai", "/deepseek/v1", "sim-v4", {})
ANTHROPIC = StreamClient(
    "anthropic", "/anthropic", "sim-steady", {"max_tokens": 4000, "thinking": THINKING}
)
RESPONSES = StreamClient("openai_responses", "/responses/v1", "sim-steady", {})
GEMINI = StreamClient("gemini", "/gemini", "sim-gemini-3", {})
OLLAMA = StreamClient("ollama", "/ollama", "sim-steady", {})
EVERY = (CHAT, ANTHROPIC, RESPONSES, GEMINI, OLLAMA)
