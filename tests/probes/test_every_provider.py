"""The same probe over every provider's wire format."""

from __future__ import annotations

import json
from dataclasses import replace

import httpx
import pytest

from probes.adapters import ADAPTERS
from probes.adapters.base import write_event_stream
from probes.messages import Reply, Stop, Text, ToolCall, Usage
from probes.outcomes import Outcome
from probes.runner import run_trials
from probes.secret import Secret
from probes.streams.assembler import reply_events
from probes.suite import Trial
from probes.target import Provider, Target
from probes.transport import Transport
from tests.probes.httpx_responses import answer

pytestmark = pytest.mark.anyio

KEY = "sim-canary-4711"
TRIALS = [Trial("format", trial) for trial in range(1, 6)]
# The path of the request, and the header with the key.
PLACES = {
    Provider.ANTHROPIC: ("https://e.test/v1/messages", "x-api-key"),
    Provider.OPENAI: ("https://e.test/chat/completions", "authorization"),
    Provider.OPENAI_RESPONSES: ("https://e.test/responses", "authorization"),
    Provider.GEMINI: ("https://e.test/v1beta/models/m:generateContent", "x-goog-api-key"),
    Provider.OLLAMA: ("https://e.test/api/chat", "authorization"),
}


@pytest.mark.parametrize("provider", Provider)
async def test_a_model_that_does_as_asked_passes(provider: Provider) -> None:
    """Question out and call back, whole and streamed, through the adapter of each provider."""
    adapter = ADAPTERS[provider]
    url, header = PLACES.get(provider, PLACES[Provider.OPENAI])
    requests: list[httpx.Request] = []
    streamed: list[bool] = []

    def obey(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        call = adapter.read_request(json.loads(request.content))
        (tool,) = call.tools
        prompt = call.turns[-1].parts[0]
        assert isinstance(prompt, Text)
        fields = dict(line.split(": ", 1) for line in prompt.text.splitlines() if ": " in line)
        values = {name: fields[name] for name in ("message", "tag")}
        tool_call = ToolCall("call_1", tool.name, values, adapter.format, json.dumps(values))
        reply = Reply((tool_call,), Stop.TOOL_CALLS, Usage(5, 6), id="r", model="m-1")
        # Gemini names the stream in the path, the others in the body.
        is_streamed = call.stream or "stream" in request.url.path
        streamed.append(is_streamed)
        if is_streamed:
            data = b"".join(write_event_stream(adapter, reply_events(reply)))
            return answer(200, data, content_type="text/event-stream")
        return answer(200, adapter.write_reply(reply))

    target = Target(provider, "https://e.test", "m", Secret(KEY), max_concurrency=1)
    async with Transport(inner=httpx.MockTransport(obey)) as transport:
        attempts = [a async for a in run_trials(target, TRIALS, seed=1, transport=transport)]

    assert {attempt.outcome for attempt in attempts} == {Outcome.PASS}, attempts[0].findings
    assert set(streamed) == {True, False}
    assert str(requests[streamed.index(False)].url) == url
    assert KEY in requests[0].headers[header]
    assert KEY not in json.dumps([replace(a).as_json() for a in attempts])
    assert attempts[0].usage.output_tokens == 6
