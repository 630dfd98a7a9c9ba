"""The official SDKs on the bytes of faulty vendors, and our verdict beside each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import anthropic
import openai
import pytest

from health.client_view import BREAKING, find_deviations
from health.run_report import Report
from probes.adapters import FORMATS
from probes.runner import run_trials
from probes.secret import Secret
from probes.suite import Trial
from probes.target import Provider, Target
from tests.health.builders import attempt
from tests.probes.adapters.loopback import run_server

SCHEMA: Any = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
NAMES = ("probe_add", "probe_multiply")
ASK: Any = [
    {
        "role": "user",
        "content": "Make these two tool calls at the same time, both in one turn:\n"
        '1. probe_add with {"a": 1, "b": 2}\n2. probe_multiply with {"a": 3, "b": 4}',
    }
]
EXPECTED = [("probe_add", {"a": 1, "b": 2}), ("probe_multiply", {"a": 3, "b": 4})]


def openai_streams(url: str) -> str:
    """What the SDK makes of a streamed turn: fine, garbled, crash, or what a loop would miss."""
    tools: Any = [
        {"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in NAMES
    ]
    client = openai.OpenAI(base_url=f"{url}/open/v1", api_key="sim-1", max_retries=0)
    try:
        with (
            client,
            client.chat.completions.stream(model="sim-steady", messages=ASK, tools=tools) as stream,
        ):
            for _ in stream:
                pass
            choice = stream.get_final_completion().choices[0]
    except (TypeError, AssertionError):
        return "crash"
    calls: Any = choice.message.tool_calls or []
    try:
        read = [(call.function.name, json.loads(call.function.arguments)) for call in calls]
    except (TypeError, ValueError):
        return "garbled"
    if read != EXPECTED:
        return "lost"
    ids = [call.id for call in calls]
    if len(set(ids)) < 2:
        return "ids"
    return "fine" if choice.finish_reason == "tool_calls" else "finish"


def anthropic_streams(url: str) -> str:
    tools: Any = [{"name": name, "input_schema": SCHEMA} for name in NAMES]
    client = anthropic.Anthropic(base_url=f"{url}/anthropic", api_key="sim-1", max_retries=0)
    try:
        with (
            client,
            client.messages.stream(
                model="sim-steady", messages=ASK, tools=tools, max_tokens=500
            ) as stream,
        ):
            message = stream.get_final_message()
    except AssertionError:
        return "crash"
    calls: Any = [block for block in message.content if block.type == "tool_use"]
    if [(call.name, call.input) for call in calls] != EXPECTED:
        return "lost"
    if len({call.id for call in calls}) < 2:
        return "ids"
    return "fine" if message.stop_reason == "tool_use" else "finish"


def measure(url: str, provider: Provider, path: str) -> Report:
    target = Target(provider, url + path, "sim-steady", Secret("sim-1"), max_concurrency=4)
    trials = [Trial(name, n) for name in ("format", "streaming", "parallel_mixed") for n in (1, 2)]

    async def run() -> Report:
        attempts = [a async for a in run_trials(target, trials, seed="view")]
        return Report(target.profile_key(), datetime.now(UTC), attempts)

    return asyncio.run(run())


OPENAI = (openai_streams, Provider.OPENAI, "/open/v1")
ANTHROPIC = (anthropic_streams, Provider.ANTHROPIC, "/anthropic")


# The SDK warns of arguments of another type than it promises.
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize(
    ("vendor", "fault", "behaviour", "reason"),
    [
        (OPENAI, "", "fine", ""),
        (OPENAI, "empty-ids", "fine", ""),
        (OPENAI, "whole-arguments", "fine", ""),
        (OPENAI, "no-done", "fine", ""),
        (OPENAI, "same-index-twice", "fine", ""),
        (OPENAI, "no-index", "crash", "index_missing"),
        (OPENAI, "index-zero", "garbled", "index_reused"),
        (OPENAI, "index-drift", "garbled", "index_drift"),
        (OPENAI, "object-arguments", "garbled", "arguments_object"),
        (OPENAI, "stop-with-calls", "finish", "stop_with_calls"),
        (OPENAI, "no-finish", "finish", "finish_reason_missing"),
        (OPENAI, "no-ids", "ids", "missing_id"),
        (OPENAI, "same-id", "ids", "duplicate_id"),
        (OPENAI, "not-streamed", "crash", "not_streamed"),
        (OPENAI, "stream-leak", "lost", "streaming: calls come as text"),
        (OPENAI, "stream-prose", "lost", "streaming: calls do not arrive"),
        (ANTHROPIC, "", "fine", ""),
        (ANTHROPIC, "input-in-start", "fine", ""),
        (ANTHROPIC, "no-block-stop", "fine", ""),
        (ANTHROPIC, "no-stop-reason", "finish", "missing_stop_reason"),
        (ANTHROPIC, "same-id", "ids", "duplicate_id"),
        (ANTHROPIC, "not-streamed", "crash", "not_streamed"),
    ],
)
def test_the_verdict_is_what_the_official_sdk_does(
    vendor_url: str,
    vendor: tuple[Callable[[str], str], Provider, str],
    fault: str,
    behaviour: str,
    reason: str,
) -> None:
    """Crash, garbled, lost, unpaired or misleading for the SDK: no. Fine: yes."""
    read, provider, path = vendor
    url = f"{vendor_url}/with/{fault}" if fault else vendor_url

    assert read(url) == behaviour

    view = measure(url, provider, path).client_view
    assert view.works_with_sdk == ("yes" if behaviour == "fine" else "no")
    assert reason in "; ".join(view.reasons)


def test_the_anthropic_sdk_passes_an_input_that_is_a_string_on() -> None:
    """The SDK promises an object, so a tool that reads a field of it fails."""
    block = {"type": "tool_use", "id": "t1", "name": "f", "input": '{"a": 1}'}
    body: Any = {"id": "m", "type": "message", "role": "assistant", "content": [block]}
    with run_server() as loopback:
        loopback.answer_json(body)
        with anthropic.Anthropic(base_url=loopback.url, api_key="sim-1") as client:
            message = client.messages.create(model="m", messages=ASK, max_tokens=5)

    call: Any = message.content[0]
    assert call.input == '{"a": 1}'
    names = {d.name for d in FORMATS["anthropic"].read_reply(body).deviations}
    assert "arguments_string" in names & BREAKING.keys()


def test_deviations_are_counted_by_attempt_and_side() -> None:
    """Those that break clients come first, with the clients."""
    attempts = [
        attempt("format", 1, deviations={"whole": ["missing_id"]}),
        attempt("format", 2, deviations={"streamed": ["index_missing", "done_missing"]}),
        attempt("format", 3, deviations={"streamed": ["index_missing"]}),
    ]

    found = [deviation.as_json() for deviation in find_deviations(attempts, "openai")]

    assert [(d["code"], d["where"], d["attempts"]) for d in found] == [
        ("index_missing", "streamed", 2),
        ("missing_id", "whole", 1),
        ("done_missing", "streamed", 1),
    ]
    assert found[0]["breaks"] == ["openai-python"]
    assert found[2]["breaks"] == []
