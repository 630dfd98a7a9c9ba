from __future__ import annotations

import json
from typing import Any

import pytest

from dashboard.runs.exchange.evidence_view import EvidenceSource, EvidenceView, build_evidence_view
from tests.dashboard.runs.exchange.builders import (
    a_call,
    a_reply,
    a_request,
    an_exchange,
    evidence,
    in_chunks,
    on_the_wire,
)

WRONG = {
    "kind": "wrong_value",
    "message": "tag should be 'beta' and is 'gamma'.",
    "path": "$.calls[0].input.tag",
}


def _shown(finding: dict[str, Any], *exchanges: dict[str, Any]) -> EvidenceView:
    return build_evidence_view(
        evidence(*exchanges), [finding], EvidenceSource("openai", False, "m")
    )


def _marked(found: EvidenceView, number: int = 1) -> str:
    reply = found.exchanges[number - 1].reply
    assert reply is not None
    return "".join(piece.text for piece in reply.body.pieces if piece.mark)


def test_a_wrong_value_is_marked_inside_the_arguments() -> None:
    """The arguments are JSON inside JSON, and still the value is found in the bytes."""
    found = _shown(WRONG, an_exchange())

    assert _marked(found) == r"\"tag\": \"gamma\""
    assert found.findings[0].mark == "m-1"


def test_a_value_that_came_in_pieces_is_marked_in_each() -> None:
    """A stream writes a word over several events; all of its parts are marked."""
    pieces = ['{"mess', 'age": "hello there", "ta', 'g": "gam', 'ma"}']
    deltas = [
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": p}}]}}]}
        for p in pieces
    ]
    reply = in_chunks([f"data: {json.dumps(delta)}\n\n" for delta in deltas])

    found = _shown(WRONG, an_exchange(request=a_request(stream=True), reply=reply))

    assert _marked(found) == r"\"ta" + r"g\": \"gam" + r"ma\""


def test_the_call_is_sought_in_the_exchange_that_made_it() -> None:
    """Two branches made a call each; the message tells which one is meant."""
    right = a_call(input={"message": "hello there", "tag": "beta"})
    right["raw"] = json.dumps(right["input"])
    first = an_exchange(reply=a_reply(on_the_wire(right)), calls=[right])

    found = _shown(WRONG, first, an_exchange(label="again"))

    assert found.findings[0].exchange == 2
    assert "gamma" in _marked(found, 2)


def test_what_is_said_of_all_calls_is_sought_at_the_end() -> None:
    """A stream that differs from the whole answer is marked in the stream."""
    finding = {"kind": "stream_differs", "message": "They differ.", "path": "$.calls"}

    found = _shown(finding, an_exchange(label="whole"), an_exchange(label="streamed"))

    assert found.findings[0].exchange == 2


def test_a_leaked_call_is_marked_in_the_text() -> None:
    """The markup that should have been a call is what a reader wants to see."""
    call = '{"name": "probe_echo", "arguments": {"message": "x", "tag": "beta"}}'
    leak = f"<tool_call>\n{call}\n</tool_call>"
    message = "The call leaked into the text, in the hermes format."
    finding = {"kind": "leaked_call", "message": message, "path": "$.text"}

    found = _shown(finding, an_exchange(reply=a_reply({"content": f"Sure.\n{leak}"}), calls=[]))

    assert _marked(found).startswith("<tool_call>")
    assert _marked(found).endswith("</tool_call>")
    assert found.exchanges[0].cards[0].is_leaked


def test_a_refusal_is_marked_in_the_words_of_the_vendor() -> None:
    """What an endpoint said stands in its own reply."""
    body = json.dumps({"error": {"message": "tools are not supported by this model"}})
    finding = {
        "kind": "no_tools",
        "message": "HTTP 400: tools are not supported by this model",
        "path": "",
    }

    found = _shown(finding, an_exchange(reply=in_chunks([body], status=400), calls=[]))

    assert _marked(found) == "tools are not supported by this model"


@pytest.mark.parametrize(
    ("finding", "why_not"),
    [
        ({"kind": "no_call", "message": "The model did not call the tool."}, "absent"),
        ({"kind": "wrong_value", "message": "Something else.", "path": "$.calls[7]"}, "nowhere"),
    ],
)
def test_what_cannot_be_located_says_so(finding: dict[str, Any], why_not: str) -> None:
    """No mark is invented for what is not in the text."""
    found = _shown(finding, an_exchange())

    assert found.findings[0].unmarked_reason == why_not
    assert _marked(found) == ""


def test_a_place_beyond_what_is_shown_says_so() -> None:
    """A finding in the far part of a long reply leads to all of it."""
    long = an_exchange(reply=a_reply({"content": "x" * 70_000 + "the end is gamma"}))
    finding = {"kind": "wrong_value", "message": "It says 'the end is gamma'.", "path": "$.text"}

    assert _shown(finding, long).findings[0].unmarked_reason == "beyond"


def test_a_call_is_a_card_with_its_result() -> None:
    """Name, typed arguments, status, format, repairs, and what was fed back in the next request."""
    call = a_call(repairs=["trailing_comma"], input={"message": "hello", "tag": "beta", "n": 3})
    history = [
        {"role": "user", "content": "Call probe_echo."},
        {"role": "assistant", **on_the_wire(call)},
        {"role": "tool", "tool_call_id": "call_1", "content": '{"echo": "hello"}'},
    ]
    second = an_exchange(
        label="with the result",
        request=a_request(*history),
        reply=a_reply({"content": "Done."}),
        calls=[],
    )

    found = _shown(WRONG, an_exchange(calls=[call]), second)

    (card,) = found.exchanges[0].cards
    assert (card.name, card.status, card.format) == ("probe_echo", "executable", "openai")
    assert card.repairs == ("trailing_comma",)
    assert [(a.name, a.type, a.value) for a in card.arguments] == [
        ("message", "string", '"hello"'),
        ("tag", "string", '"beta"'),
        ("n", "integer", "3"),
    ]
    assert card.result == '{\n  "echo": "hello"\n}'
    # Of a history only what is new is told again.
    assert [line.kind for line in found.exchanges[1].request_lines] == ["call", "result"]
    assert [line.text for line in found.exchanges[1].reply_lines] == ["Done."]
    assert found.exchanges[1].usage is not None
    assert found.exchanges[1].usage.input_tokens == 11


@pytest.mark.parametrize(
    ("call", "status"),
    [
        (a_call(), "blocked"),  # gamma is not offered
        (a_call(name="rm_rf"), "blocked"),
        ({"id": "1", "name": "x", "raw": "{", "kind": "invalid_json", "error": "Cut."}, "broken"),
        ({"id": "1", "name": "x", "raw": "{}", "kind": "unknown_tool", "error": "No."}, "blocked"),
        ({"truncated": True}, "broken"),
    ],
)
def test_a_call_that_may_not_run_says_so(call: dict[str, Any], status: str) -> None:
    """Blocked could be read and may not run; broken could not be read."""
    found = _shown(WRONG, an_exchange(calls=[call]))

    assert found.exchanges[0].cards[0].status == status
