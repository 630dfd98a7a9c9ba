from __future__ import annotations

import re
from typing import Any

import pytest

from probes.dialects.base import Dialect
from probes.history.model_conversation import Conversation, SendOptions
from probes.messages import ModelCall, ToolResult
from simulators.faults.calls import faulty_ids
from simulators.faults.refusals import id_refusals
from tests.simulators.fault_client import (
    ADD,
    ECHO,
    EVERY_FORMAT,
    TWO,
    FaultyVendor,
    question,
    read_frames,
)
from tests.simulators.raw_requests import DIALECTS, wire_calls

every_format = pytest.mark.parametrize("wire_format", EVERY_FORMAT)
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
NONCES = ("nonce-one-7781", "nonce-two-3312")


def read_sent_ids(url: str, switches: str, wire_format: str, *, stream: bool) -> list[Any]:
    answer = FaultyVendor(url, switches).ask(wire_format, question(TWO), stream=stream)
    assert answer.status_code == 200, answer.text
    return [call.id for call in wire_calls(read_frames(answer) if stream else answer.json())]


@both_ways
@every_format
def test_calls_come_without_ids(vendor_url: str, wire_format: str, stream: bool) -> None:
    """The id field is missing, and our readers generate an id per call."""
    assert read_sent_ids(vendor_url, "no-ids", wire_format, stream=stream) == [None, None]

    calls = (
        FaultyVendor(vendor_url, "no-ids")
        .read_reply(wire_format, question(TWO), stream=stream)
        .calls
    )
    assert len({call.id for call in calls}) == 2
    assert all(call.id for call in calls)


@both_ways
@every_format
def test_all_calls_of_an_answer_have_one_id(
    vendor_url: str, wire_format: str, stream: bool
) -> None:
    """Two calls share an id that no other answer has, and both are read."""
    first, second = read_sent_ids(vendor_url, "same-id", wire_format, stream=stream)
    other = read_sent_ids(vendor_url, "same-id", wire_format, stream=stream)

    assert first == second
    assert first not in other
    assert (
        len(
            FaultyVendor(vendor_url, "same-id")
            .read_reply(wire_format, question(TWO), stream=stream)
            .calls
        )
        == 2
    )


@both_ways
@every_format
def test_every_answer_has_the_same_id(vendor_url: str, wire_format: str, stream: bool) -> None:
    """All calls of all answers share one id."""
    ids = [read_sent_ids(vendor_url, "constant-id", wire_format, stream=stream) for _ in range(2)]

    assert ids == [["call_00000000"] * 2] * 2


@both_ways
@every_format
@pytest.mark.parametrize(
    ("switch", "patterns"),
    [
        ("long-ids", [r"[\w-]{96}"] * 2),
        ("odd-ids", [r"[\w-]+\|fc_[0-9a-f]{8}:0", r"[\w-]+\|fc_[0-9a-f]{8}:1"]),
        ("numbered-ids", [r"functions\.probe_echo:0", r"functions\.probe_add:1"]),
    ],
)
def test_ids_have_a_form_that_others_refuse(
    vendor_url: str, wire_format: str, stream: bool, switch: str, patterns: list[str]
) -> None:
    """Ids have the form on the wire, whole and streamed, and are read unchanged."""
    ids = read_sent_ids(vendor_url, switch, wire_format, stream=stream)

    assert len(ids) == 2
    assert all(re.fullmatch(p, id_) for p, id_ in zip(patterns, ids, strict=True))
    calls = (
        FaultyVendor(vendor_url, switch).read_reply(wire_format, question(TWO), stream=stream).calls
    )
    assert all(re.fullmatch(p, c.id) for p, c in zip(patterns, calls, strict=True))


@every_format
@pytest.mark.parametrize("switch", [fault.name for fault in faulty_ids.FAULTS])
def test_our_history_survives_every_kind_of_id(
    vendor_url: str, wire_format: str, switch: str
) -> None:
    """Two rounds of calls and results are accepted by vendors that check ids."""
    checks = "+".join(
        fault.name for fault in id_refusals.FAULTS if fault.name != "nine-character-ids"
    )
    faulty = FaultyVendor(vendor_url, f"{switch}+{checks}")
    conversation = Conversation()
    for prompt in (TWO, TWO.replace("amber", "cobalt")):
        conversation.add_user(prompt)
        reply = faulty.read_reply(wire_format, prepare_call(conversation, DIALECTS[wire_format]))
        conversation.add_reply(reply, "here")
        results = zip(reply.calls, NONCES, strict=True)
        conversation.add_results(
            ToolResult(call.id, text, name=call.name) for call, text in results
        )
        last = faulty.read_reply(wire_format, prepare_call(conversation, DIALECTS[wire_format]))
        conversation.add_reply(last, "here")

    assert all(nonce in (last.text or "") for nonce in NONCES)


def prepare_call(conversation: Conversation, dialect: Dialect) -> ModelCall:
    blank = ModelCall("", (), tools=(ECHO, ADD))
    return conversation.to_call(blank, SendOptions(dialect, "here")).call
