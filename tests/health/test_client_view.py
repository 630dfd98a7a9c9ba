"""The official SDKs on the bytes of faulty vendors, and our verdict beside each."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import anthropic
import pytest

from health.client_view import BREAKING, find_deviations
from health.run_report import Report
from probes.adapters import FORMATS
from probes.runner import run_trials
from probes.secret import Secret
from probes.suite import Trial
from probes.target import Target
from simulators.faults.calls import faulty_ids
from simulators.faults.streams import chat_streams, other_streams, stream_only
from tests.health.builders import attempt
from tests.health.sdk_streams import ASK, READERS, read_with_sdk
from tests.probes.adapters.loopback import run_server

# Per wire format, what its official SDK makes of a streamed turn with two calls, by fault: calls as
# asked for (fine), an exception (crash), arguments that are no JSON (garbled), other calls (lost),
# ids that pair no result (ids), or no sign that tools are to be called (finish).
BEHAVIOURS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "openai": {
        "fine": (
            "",
            "empty-ids",
            "whole-arguments",
            "no-done",
            "same-index-twice",
            "late-reasoning",
            "usage-before-finish",
            "crlf-keepalive",
            "split-utf8",
            "long-ids",
            "odd-ids",
            "numbered-ids",
        ),
        "crash": (
            "no-index",
            "error-after-200",
            "truncated-opener",
            "not-streamed",
            "stream-cut",
        ),
        "garbled": (
            "index-zero",
            "index-drift",
            "object-arguments",
            "lost-tail",
            "concatenated",
        ),
        "lost": (
            "dropped-deltas",
            "last-invoke-only",
            "reordered-calls",
            "phantom-stream",
            "stream-leak",
            "stream-prose",
        ),
        "ids": (
            "no-ids",
            "same-id",
            "constant-id",
        ),
        "finish": (
            "stop-with-calls",
            "no-finish",
        ),
    },
    "anthropic": {
        "fine": (
            "",
            "crlf-keepalive",
            "split-utf8",
            "input-in-start",
            "no-block-stop",
            "no-signature",
            "unknown-events",
            "long-ids",
            "odd-ids",
            "numbered-ids",
        ),
        "crash": (
            "error-event",
            "not-streamed",
            "stream-cut",
        ),
        "lost": (
            "stream-leak",
            "stream-prose",
        ),
        "ids": (
            "no-ids",
            "same-id",
            "constant-id",
        ),
        "finish": ("no-stop-reason",),
    },
    "openai_responses": {
        "fine": (
            "",
            "crlf-keepalive",
            "split-utf8",
            "no-item-done",
            "unknown-events",
            "long-ids",
            "odd-ids",
            "numbered-ids",
        ),
        "crash": (
            "no-completed",
            "response-failed",
            "not-streamed",
            "stream-cut",
            "no-ids",
            "same-id",
            "constant-id",
        ),
        "lost": (
            "arguments-in-item",
            "stream-leak",
            "stream-prose",
        ),
    },
    "gemini": {
        "fine": (
            "",
            "split-utf8",
            "trailing-signature",
            "single-chunk",
            "not-streamed",
            "no-ids",
            "long-ids",
            "odd-ids",
            "numbered-ids",
        ),
        "crash": (
            "crlf-keepalive",
            "stream-cut",
        ),
        "lost": (
            "split-calls",
            "malformed-finish",
            "stream-leak",
            "stream-prose",
        ),
        "ids": (
            "same-id",
            "constant-id",
        ),
        "finish": ("no-finish-reason",),
    },
    "ollama": {
        "fine": (
            "",
            "split-utf8",
            "calls-without-id",
            "no-ids",
            "same-id",
            "constant-id",
            "long-ids",
            "odd-ids",
            "numbered-ids",
        ),
        "crash": (
            "error-line",
            "blank-lines",
            "stream-cut",
        ),
        "lost": (
            "stream-leak",
            "stream-prose",
        ),
        "finish": ("no-done-line",),
    },
}
STREAM_FAULTS = (
    *chat_streams.FAULTS,
    *other_streams.FAULTS,
    *stream_only.FAULTS,
    *faulty_ids.FAULTS,
)
# This SDK reads a whole answer where it asked for a stream; clients that read events do not.
STRICTER = {("gemini", "not-streamed")}
CASES = [
    (format_, fault, behaviour)
    for format_, behaviours in BEHAVIOURS.items()
    for behaviour, faults in behaviours.items()
    for fault in faults
]


def test_every_fault_of_streams_and_ids_is_in_the_table() -> None:
    """And the answer without a fault."""
    expected = {(f, fault.name) for fault in STREAM_FAULTS for f in fault.formats}

    assert {(f, fault) for f, fault, _ in CASES} == expected | {(f, "") for f in BEHAVIOURS}


# The SDK warns of arguments of another type than it promises.
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize(("format_", "fault", "behaviour"), CASES)
def test_the_verdict_is_what_the_official_sdk_does(
    vendor_url: str, format_: str, fault: str, behaviour: str
) -> None:
    """Only where the official SDK gets the calls as asked for, an ordinary SDK works."""
    url = f"{vendor_url}/with/{fault}" if fault else vendor_url

    assert read_with_sdk(format_, url) == behaviour

    view = measure(url, format_).client_view
    works = behaviour == "fine" and (format_, fault) not in STRICTER
    assert view.works_with_sdk == ("yes" if works else "no"), view.reasons
    assert bool(view.reasons) is not works


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("no-index", "index_missing"),
        ("index-zero", "index_reused"),
        ("index-drift", "index_drift"),
        ("object-arguments", "arguments_object"),
        ("stop-with-calls", "stop_with_calls"),
        ("no-finish", "finish_reason_missing"),
        ("no-ids", "missing_id"),
        ("same-id", "duplicate_id"),
        ("not-streamed", "not_streamed"),
        ("stream-leak", "streaming: calls come as text"),
        ("stream-prose", "streaming: calls do not arrive"),
    ],
)
def test_the_reason_names_the_deviation(vendor_url: str, fault: str, reason: str) -> None:
    """So that a reader can find it in the list of deviations."""
    view = measure(f"{vendor_url}/with/{fault}", "openai").client_view

    assert reason in "; ".join(map(str, view.reasons))


def measure(url: str, format_: str) -> Report:
    _, provider, path, model = READERS[format_]
    target = Target(provider, url + path, model, Secret("sim-1"), max_concurrency=4)
    trials = [Trial(name, n) for name in ("format", "streaming", "parallel_mixed") for n in (1, 2)]

    async def run() -> Report:
        attempts = [a async for a in run_trials(target, trials, seed="view")]
        return Report(target.profile_key(), datetime.now(UTC), attempts)

    return asyncio.run(run())


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
