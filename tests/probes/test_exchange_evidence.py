from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

from probes.exchange_evidence import MAX_BODY, Evidence, Exchange, record_evidence
from probes.findings import Finding, FindingKind
from probes.http_messages import Chunk, WireRequest, WireResponse
from probes.messages import JSON, BrokenCall, Reply, Stop, ToolCall
from probes.redaction import Redactor
from probes.secret import Secret

KEY = "sk-canary-4711"
OUTGOING = WireRequest(
    "POST",
    "https://e.test/v1/chat/completions",
    {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"},
    b'{"model": "m"}',
)


def reply_of(*chunks: bytes, **headers: str) -> dict[str, JSON]:
    received = tuple(Chunk(index, data) for index, data in enumerate(chunks))
    incoming = WireResponse(200, headers, received, total_ms=9, first_byte_ms=3)
    reply = record_exchange(Exchange(OUTGOING, incoming))["reply"]
    assert isinstance(reply, dict)
    return reply


def record_exchange(exchange: Exchange) -> dict[str, JSON]:
    """The evidence of a single exchange."""
    (evidence_json,) = record_evidence([exchange], (), Redactor(Secret(KEY))).exchanges
    assert isinstance(evidence_json, dict)
    return evidence_json


def test_a_request_keeps_its_body_and_no_credential() -> None:
    """Only allowed headers are stored."""
    assert record_exchange(Exchange(OUTGOING))["request"] == {
        "method": "POST",
        "url": "https://e.test/v1/chat/completions",
        "headers": {"content-type": "application/json"},
        "body": '{"model": "m"}',
        "truncated": False,
    }


def test_reply_headers_are_kept_by_a_list() -> None:
    """A cookie is not evidence; an echoed key in an allowed header is redacted."""
    reply = reply_of(b"", **{"set-cookie": "a=b", "server": f"x {KEY}"})

    assert reply["headers"] == {"server": "x [redacted]"}


def test_chunks_keep_their_times_and_become_text_where_they_can() -> None:
    """Valid UTF-8 is text; anything else, and NUL, is base64."""
    reply = reply_of(b"{}", b"\xff", b"a\0b")

    assert reply["chunks"] == [
        {"ms": 0, "text": "{}"},
        {"ms": 1, "base64": base64.b64encode(b"\xff").decode()},
        {"ms": 2, "base64": base64.b64encode(b"a\0b").decode()},
    ]


def test_a_large_body_is_cut_and_says_so() -> None:
    """Evidence is bounded; its true size is kept."""
    reply = reply_of(b"x" * MAX_BODY, b"y" * 100)

    assert reply["truncated"] is True
    assert reply["bytes"] == MAX_BODY + 100
    assert "y" not in json.dumps(reply["chunks"])


def test_a_key_across_the_cut_leaves_no_half() -> None:
    """Redaction comes before the cut."""
    reply = reply_of(b"x" * (MAX_BODY - 4) + KEY.encode() + b"z" * 50)

    assert "sk-c" not in json.dumps(reply)


def test_many_tiny_chunks_are_bounded() -> None:
    """A stream of single bytes cannot inflate the evidence."""
    reply = reply_of(*[b"x"] * 10_000)

    assert reply["truncated"] is True
    assert isinstance(reply["chunks"], list)
    assert len(reply["chunks"]) == 4096


def test_calls_findings_and_error_are_kept_redacted() -> None:
    """Parsed values are stored beside the bytes, without the key."""
    parts = (ToolCall("c", "f", {KEY: 1}, "openai", KEY), BrokenCall("{", f"bad {KEY}"))
    exchange = Exchange(OUTGOING, None, Reply(parts, Stop.END), error=f"no {KEY}")
    finding = Finding(FindingKind.NO_CALL, "m")

    evidence = record_evidence([exchange], (finding,), Redactor(Secret(KEY))).as_json()

    assert KEY not in json.dumps(evidence)
    assert evidence["findings"] == [{"kind": "no_call", "message": "m", "path": ""}]
    evidence_json = record_exchange(exchange)
    assert evidence_json["error"] == "no [redacted]"
    assert evidence_json["calls"] == [
        {
            "id": "c",
            "name": "f",
            "raw": "[redacted]",
            "input": {"[redacted]": 1},
            "format": "openai",
            "repairs": [],
        },
        {
            "id": "",
            "name": "",
            "raw": "{",
            "kind": "invalid_json",
            "error": "bad [redacted]",
            "path": "",
        },
    ]


def test_calls_beyond_the_bound_are_marked() -> None:
    """Huge arguments are not stored a second time beside the bytes."""
    big = ToolCall("c", "f", {}, "openai", "x" * (MAX_BODY + 1))

    evidence_json = record_exchange(Exchange(OUTGOING, None, Reply((big,), Stop.END)))

    assert evidence_json["calls"] == [{"truncated": True}]


def test_every_exchange_of_an_attempt_is_kept_in_order() -> None:
    """A script's questions and their answers can be read one after the other."""
    exchanges = [Exchange(OUTGOING, WireResponse(200), label="asked"), Exchange(label="never sent")]

    evidence = record_evidence(exchanges, (), Redactor(None)).as_json()

    evidence_json = evidence["exchanges"]
    assert isinstance(evidence_json, list)
    assert [item["label"] for item in evidence_json] == ["asked", "never sent"]
    assert evidence_json[1] == {
        "label": "never sent",
        "request": {},
        "reply": None,
        "calls": [],
        "error": None,
    }


def test_an_attempt_without_an_exchange_has_empty_evidence() -> None:
    """An attempt that was cut off before it began has no exchanges."""
    assert record_evidence([], (), Redactor(None)) == Evidence()
    assert Evidence().as_json() == {"exchanges": [], "findings": []}


def test_what_was_dropped_is_counted_and_marked() -> None:
    """The evidence of an answer is the same before and after its excess was dropped."""
    chunks = (Chunk(1, b"a" * MAX_BODY), Chunk(2, b"b" * MAX_BODY))
    whole = Exchange(OUTGOING, WireResponse(200, {}, chunks, dropped_bytes=7))

    bounded = whole.without_excess()

    assert bounded.incoming is not None
    assert len(bounded.incoming.body) < MAX_BODY + len(chunks[1].data)
    assert record_exchange(bounded) == record_exchange(whole)
    reply: Any = record_exchange(bounded)["reply"]
    assert (reply["bytes"], reply["truncated"]) == (2 * MAX_BODY + 7, True)


def test_a_short_answer_that_was_cut_is_marked() -> None:
    """Also a limit below that of evidence leaves its mark."""
    incoming = WireResponse(200, {}, (Chunk(1, b"abc"),), dropped_bytes=1)
    reply: Any = record_exchange(Exchange(OUTGOING, incoming))["reply"]

    assert (reply["bytes"], reply["truncated"]) == (4, True)


def test_a_long_request_is_bounded_alike() -> None:
    """A history with long replies must not be held once more for its evidence."""
    whole = Exchange(replace(OUTGOING, body="ä".encode() * (2 * MAX_BODY)))

    bounded = whole.without_excess()

    assert bounded.outgoing is not None
    assert len(bounded.outgoing.body) < 3 * MAX_BODY
    assert record_exchange(bounded) == record_exchange(whole)
