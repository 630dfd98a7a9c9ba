from __future__ import annotations

import random

import httpx
import pytest

from probes.messages import Reply, Stop, Text, ToolCall
from simulators.faults.effects import SILENT
from simulators.faults.fault import Fault
from simulators.faults.fault_registry import FAULTS as EVERY_FAULT
from simulators.faults.streams import chat_streams, other_streams
from simulators.faults.streams.stream_fault import BROKEN_STREAM, NO_EFFECT
from simulators.vendors.hooks import OutgoingAnswer
from simulators.vendors.reply_stream import media_type, split_reply_events, write_chunks
from tests.simulators.conversation import FIRST
from tests.simulators.stream_client import (
    ANTHROPIC,
    EVERY,
    GEMINI,
    OLLAMA,
    PROSE,
    RESPONSES,
    StreamClient,
    read_calls,
    user_turn,
)

FAULTS = (*chat_streams.FAULTS, *other_streams.FAULTS)
CLIENTS = {client.format: client for client in EVERY}
every_fault = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)


@every_fault
def test_no_other_family_has_a_fault_of_that_name(fault: Fault) -> None:
    """The registry would silently keep only one of two faults with the same name."""
    assert EVERY_FAULT[fault.name] is fault


@pytest.mark.parametrize("client", [ANTHROPIC, RESPONSES, GEMINI, OLLAMA], ids=lambda a: a.format)
def test_characters_are_split_in_every_format(vendor_url: str, client: StreamClient) -> None:
    """D15 applies to the bytes of every format."""
    got = client.streamed(vendor_url, "split-utf8")

    assert any(chunk.endswith(b"\xe2") for chunk in got.chunks)
    assert read_calls(got.reply) == FIRST


@pytest.mark.parametrize("client", [ANTHROPIC, RESPONSES, GEMINI], ids=lambda a: a.format)
def test_every_event_stream_has_comments(vendor_url: str, client: StreamClient) -> None:
    """D14 applies to the framing of every event stream."""
    got = client.streamed(vendor_url, "crlf-keepalive")

    assert got.data.count(b"\n") == got.data.count(b"\r\n")
    assert b"\r\n\r\n: OPENROUTER PROCESSING\r\n\r\n" in got.data
    assert read_calls(got.reply) == FIRST


@every_fault
def test_the_effect_of_a_fault_is_what_our_reader_finds(vendor_url: str, fault: Fault) -> None:
    """No effect means the same calls, a loss means other calls, no verdict means an error."""
    for wire_format in fault.formats:
        streamed = CLIENTS[wire_format].streamed(vendor_url, fault.name).reply
        whole = CLIENTS[wire_format].whole(vendor_url, fault.name)
        broke_off = streamed.stop is Stop.ERROR
        if fault.effect.fields == SILENT.fields:
            assert read_calls(streamed) == read_calls(whole) == []
            continue
        assert read_calls(whole) == FIRST
        assert (fault.effect == BROKEN_STREAM) == broke_off
        if not broke_off:
            assert (fault.effect == NO_EFFECT) == (read_calls(streamed) == FIRST)
            assert bool(fault.effect.fields) == (read_calls(streamed) != FIRST)


@every_fault
def test_a_fault_leaves_other_formats_alone(fault: Fault) -> None:
    """A fault leaves streams of unlisted formats unchanged."""
    call = ToolCall("call_1", "f", {"a": "ü"}, "mind", '{"a":"ü"}')
    reply = Reply((Text("so"), call), Stop.TOOL_CALLS, id="r", model="m")
    for wire_format in CLIENTS.keys() - fault.formats:
        chunks = write_chunks(wire_format, reply, split_reply_events(reply))
        hooks = fault.make(None)
        rng = random.Random(1)

        assert hooks.chunks(chunks, rng) == chunks
        outgoing = OutgoingAnswer(chunks, media_type(wire_format))
        assert hooks.outgoing(outgoing, rng) == outgoing


@pytest.mark.parametrize(
    "fault",
    [fault for fault in FAULTS if fault.effect != BROKEN_STREAM],
    ids=lambda fault: fault.name,
)
def test_prose_survives_faults_of_calls(vendor_url: str, fault: Fault) -> None:
    """Faults of calls leave an answer without calls unchanged."""
    for wire_format in fault.formats:
        got = CLIENTS[wire_format].streamed(vendor_url, fault.name, user_turn(PROSE)).reply
        plain = CLIENTS[wire_format].whole(vendor_url, "", user_turn(PROSE))

        assert (got.text, got.stop) == (plain.text, Stop.END)
        assert got.reasoning == plain.reasoning


@pytest.mark.parametrize(
    ("switches", "supported", "rate"),
    [("no-index", True, 0), ("lost-tail", False, 1), ("error-after-200", False, 1)],
)
def test_the_truth_reports_streaming_support(
    vendor_url: str, switches: str, supported: bool, rate: float
) -> None:
    """The truth reports streaming as supported or lost."""
    truth = httpx.get(f"{vendor_url}/with/{switches}/_truth/open", trust_env=False).json()

    assert truth["capabilities"]["supports_streaming_tool_use"] is supported
    assert truth["metrics"]["stream_disagreement"]["rate"] == rate


def test_half_a_surrogate_pair_stays_an_escape() -> None:
    """UTF-8 cannot encode a lone surrogate, so its event is unchanged."""
    lone = b'data: {"text": "\\ud83d"}\n\n'
    hooks = next(fault for fault in FAULTS if fault.name == "split-utf8").make(None)

    sent = hooks.outgoing(OutgoingAnswer([lone], media_type("openai")), random.Random(1))

    assert b"".join(sent.chunks) == lone
