from __future__ import annotations

import random

import httpx
import pytest

from probes.messages import Reply, Stop, Text, ToolCall
from simulators.faults.effects import SILENT
from simulators.faults.fault import Fault
from simulators.faults.registry import FAULTS as EVERY_FAULT
from simulators.faults.streams import chat_streams, other_streams
from simulators.faults.streams.stream_fault import NO_EFFECT, NO_VERDICT, STREAM_LOSS
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
    asked,
    said,
)

FAULTS = (*chat_streams.FAULTS, *other_streams.FAULTS)
FORMS = {asking.format: asking for asking in EVERY}
every_fault = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)


@every_fault
def test_no_other_family_has_a_fault_of_that_name(fault: Fault) -> None:
    """The registry keeps one of two, and would not say so."""
    assert EVERY_FAULT[fault.name] is fault


@pytest.mark.parametrize("asking", [ANTHROPIC, RESPONSES, GEMINI, OLLAMA], ids=lambda a: a.format)
def test_a_character_is_cut_in_every_format(vendor_url: str, asking: StreamClient) -> None:
    """D15 is about bytes, whatever they carry."""
    got = asking.streamed(vendor_url, "split-utf8")

    assert any(chunk.endswith(b"\xe2") for chunk in got.chunks)
    assert said(got.reply) == FIRST


@pytest.mark.parametrize("asking", [ANTHROPIC, RESPONSES, GEMINI], ids=lambda a: a.format)
def test_comments_stand_in_every_event_stream(vendor_url: str, asking: StreamClient) -> None:
    """D14 is about framing, whatever it frames."""
    got = asking.streamed(vendor_url, "crlf-keepalive")

    assert got.data.count(b"\n") == got.data.count(b"\r\n")
    assert b"\r\n\r\n: OPENROUTER PROCESSING\r\n\r\n" in got.data
    assert said(got.reply) == FIRST


@every_fault
def test_the_effect_of_a_fault_is_what_our_reader_finds(vendor_url: str, fault: Fault) -> None:
    """Understood: the same calls. Lost: other calls than the whole answer's. Else no good end."""
    for form in fault.formats:
        streamed = FORMS[form].streamed(vendor_url, fault.name).reply
        whole = FORMS[form].whole(vendor_url, fault.name)
        broke_off = streamed.stop is Stop.ERROR
        if fault.effect.fields == SILENT.fields:
            assert said(streamed) == said(whole) == []
            continue
        assert said(whole) == FIRST
        assert (fault.effect == NO_VERDICT) == broke_off
        if not broke_off:
            assert (fault.effect == NO_EFFECT) == (said(streamed) == FIRST)
            assert (fault.effect == STREAM_LOSS) == (said(streamed) != FIRST)


@every_fault
def test_a_fault_leaves_other_formats_alone(fault: Fault) -> None:
    """A stream of a format that it does not list goes through as it is."""
    call = ToolCall("call_1", "f", {"a": "ü"}, "mind", '{"a":"ü"}')
    reply = Reply((Text("so"), call), Stop.TOOL_CALLS, id="r", model="m")
    for form in FORMS.keys() - fault.formats:
        chunks = write_chunks(form, reply, split_reply_events(reply))
        hooks = fault.make(None)
        rng = random.Random(1)

        assert hooks.chunks(chunks, rng) == chunks
        outgoing = OutgoingAnswer(chunks, media_type(form))
        assert hooks.outgoing(outgoing, rng) == outgoing


@pytest.mark.parametrize(
    "fault",
    [fault for fault in FAULTS if fault.effect != NO_VERDICT],
    ids=lambda fault: fault.name,
)
def test_prose_survives_what_is_done_to_calls(vendor_url: str, fault: Fault) -> None:
    """What is understood and what loses calls leave an answer without calls alone."""
    for form in fault.formats:
        got = FORMS[form].streamed(vendor_url, fault.name, asked(PROSE)).reply
        plain = FORMS[form].whole(vendor_url, "", asked(PROSE))

        assert (got.text, got.stop) == (plain.text, Stop.END)
        assert got.reasoning == plain.reasoning


@pytest.mark.parametrize(
    ("switches", "supported", "rate"),
    [("no-index", True, 0), ("lost-tail", False, 1), ("error-after-200", None, 0)],
)
def test_the_truth_tells_what_a_stream_is_worth(
    vendor_url: str, switches: str, supported: bool | None, rate: float
) -> None:
    """Understood, lost, and no verdict."""
    told = httpx.get(f"{vendor_url}/with/{switches}/_truth/open", trust_env=False).json()

    assert told["capabilities"]["supports_streaming_tool_use"] is supported
    assert told["metrics"]["stream_disagreement"]["rate"] == rate


def test_half_a_surrogate_pair_stays_an_escape() -> None:
    """UTF-8 cannot say it, so that event goes out as it was."""
    lone = b'data: {"text": "\\ud83d"}\n\n'
    hooks = next(fault for fault in FAULTS if fault.name == "split-utf8").make(None)

    sent = hooks.outgoing(OutgoingAnswer([lone], media_type("openai")), random.Random(1))

    assert b"".join(sent.chunks) == lone
