from __future__ import annotations

import json
from typing import Any

import pytest

from dashboard.runs.exchange.evidence_view import EvidenceSource, EvidenceView, build_evidence_view
from tests.dashboard.runs.exchange.builders import (
    build_call,
    build_call_message,
    build_chunked_reply,
    build_evidence,
    build_exchange,
    build_reply,
    build_request,
)

WRONG = {
    "kind": "wrong_value",
    "message": "tag should be 'beta' and is 'gamma'.",
    "path": "$.calls[0].input.tag",
}


def _build_view(finding: dict[str, Any], *exchanges: dict[str, Any]) -> EvidenceView:
    return build_evidence_view(
        build_evidence(*exchanges), [finding], EvidenceSource("openai", False, "m")
    )


def _marked_text(view: EvidenceView, number: int = 1) -> str:
    reply = view.exchanges[number - 1].reply
    assert reply is not None
    return "".join(piece.text for piece in reply.body.pieces if piece.mark)


def test_a_wrong_value_is_marked_inside_the_arguments() -> None:
    """A value in arguments, which are JSON inside JSON, is located in the raw reply."""
    view = _build_view(WRONG, build_exchange())

    assert _marked_text(view) == r"\"tag\": \"gamma\""
    assert view.findings[0].mark == "m-1"


def test_a_value_in_several_chunks_is_marked_in_each() -> None:
    """A value that a stream splits over several events is marked in all of them."""
    pieces = ['{"mess', 'age": "hello there", "ta', 'g": "gam', 'ma"}']
    deltas = [
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": p}}]}}]}
        for p in pieces
    ]
    reply = build_chunked_reply([f"data: {json.dumps(delta)}\n\n" for delta in deltas])

    view = _build_view(WRONG, build_exchange(request=build_request(stream=True), reply=reply))

    assert _marked_text(view) == r"\"ta" + r"g\": \"gam" + r"ma\""


def test_a_finding_is_located_in_the_exchange_of_its_call() -> None:
    """If two exchanges have a call, the value in the message decides between them."""
    right = build_call(input={"message": "hello there", "tag": "beta"})
    right["raw"] = json.dumps(right["input"])
    first = build_exchange(reply=build_reply(build_call_message(right)), calls=[right])

    view = _build_view(WRONG, first, build_exchange(label="again"))

    assert view.findings[0].exchange == 2
    assert "gamma" in _marked_text(view, 2)


def test_a_finding_about_all_calls_is_located_in_the_last_exchange() -> None:
    """A stream that differs from the complete reply is marked in the stream."""
    finding = {"kind": "stream_differs", "message": "They differ.", "path": "$.calls"}

    view = _build_view(finding, build_exchange(label="whole"), build_exchange(label="streamed"))

    assert view.findings[0].exchange == 2


@pytest.mark.parametrize(
    "leak",
    [
        "<probe_echo><message>hello there</message><tag>beta</tag></probe_echo>",
        '```\n[TOOL_CALLS]probe_echo{"message": "hello there", "tag": "beta"}\n```\nSo.',
    ],
    ids=["unknown format", "in a code block"],
)
def test_a_leaked_call_that_cannot_be_read_is_marked_in_the_text(leak: str) -> None:
    """Its format is unknown, or it is quoted."""
    finding = {"kind": "leaked_call", "message": "It leaked.", "path": "$.text"}

    view = _build_view(
        finding, build_exchange(reply=build_reply({"content": f"Sure.\n{leak}"}), calls=[])
    )

    assert "hello there" in _marked_text(view)
    assert "Sure." not in _marked_text(view)


def test_a_leaked_call_is_marked_in_the_text() -> None:
    """The markup of a leaked call is marked."""
    call = '{"name": "probe_echo", "arguments": {"message": "x", "tag": "beta"}}'
    leak = f"<tool_call>\n{call}\n</tool_call>"
    message = "The call leaked into the text, in the hermes format."
    finding = {"kind": "leaked_call", "message": message, "path": "$.text"}

    view = _build_view(
        finding, build_exchange(reply=build_reply({"content": f"Sure.\n{leak}"}), calls=[])
    )

    assert _marked_text(view).startswith("<tool_call>")
    assert _marked_text(view).endswith("</tool_call>")
    assert view.exchanges[0].cards[0].is_leaked


def test_an_error_message_of_the_vendor_is_marked() -> None:
    """The vendor's part of an error message is marked in the reply."""
    body = json.dumps({"error": {"message": "tools are not supported by this model"}})
    finding = {
        "kind": "no_tools",
        "message": "HTTP 400: tools are not supported by this model",
        "path": "",
    }

    view = _build_view(
        finding, build_exchange(reply=build_chunked_reply([body], status=400), calls=[])
    )

    assert _marked_text(view) == "tools are not supported by this model"


@pytest.mark.parametrize(
    ("finding", "unmarked_reason"),
    [
        ({"kind": "no_call", "message": "The model did not call the tool."}, "absent"),
        ({"kind": "wrong_value", "message": "Something else.", "path": "$.calls[7]"}, "nowhere"),
    ],
)
def test_a_finding_without_location_has_a_reason(
    finding: dict[str, Any], unmarked_reason: str
) -> None:
    """A finding that is not in the text has no mark, but a reason."""
    view = _build_view(finding, build_exchange())

    assert view.findings[0].unmarked_reason == unmarked_reason
    assert _marked_text(view) == ""


def test_a_finding_beyond_the_shown_part_has_a_reason() -> None:
    """A finding in the part of a long reply that is not shown gets the reason "beyond"."""
    long = build_exchange(reply=build_reply({"content": "x" * 70_000 + "the end is gamma"}))
    finding = {"kind": "wrong_value", "message": "It says 'the end is gamma'.", "path": "$.text"}

    assert _build_view(finding, long).findings[0].unmarked_reason == "beyond"


def test_a_call_is_a_card_with_its_result() -> None:
    """A card has name, typed arguments, status, format, repairs and the result of the call."""
    call = build_call(repairs=["trailing_comma"], input={"message": "hello", "tag": "beta", "n": 3})
    history = [
        {"role": "user", "content": "Call probe_echo."},
        {"role": "assistant", **build_call_message(call)},
        {"role": "tool", "tool_call_id": "call_1", "content": '{"echo": "hello"}'},
    ]
    second = build_exchange(
        label="with the result",
        request=build_request(*history),
        reply=build_reply({"content": "Done."}),
        calls=[],
    )

    view = _build_view(WRONG, build_exchange(calls=[call]), second)

    (card,) = view.exchanges[0].cards
    assert (card.name, card.status, card.format) == ("probe_echo", "executable", "openai")
    assert card.repairs == ("trailing_comma",)
    assert [(a.name, a.type, a.value) for a in card.arguments] == [
        ("message", "string", '"hello"'),
        ("tag", "string", '"beta"'),
        ("n", "integer", "3"),
    ]
    assert card.result == '{\n  "echo": "hello"\n}'
    # Only the new messages of a history are shown.
    assert [line.kind for line in view.exchanges[1].request_lines] == ["call", "result"]
    assert [line.text for line in view.exchanges[1].reply_lines] == ["Done."]
    assert view.exchanges[1].usage is not None
    assert view.exchanges[1].usage.input_tokens == 11


@pytest.mark.parametrize(
    ("call", "status"),
    [
        (build_call(), "blocked"),  # gamma is not offered
        (build_call(name="rm_rf"), "blocked"),
        ({"id": "1", "name": "x", "raw": "{", "kind": "invalid_json", "error": "Cut."}, "broken"),
        ({"id": "1", "name": "x", "raw": "{}", "kind": "unknown_tool", "error": "No."}, "blocked"),
        ({"truncated": True}, "broken"),
    ],
)
def test_the_status_of_a_call_that_may_not_run(call: dict[str, Any], status: str) -> None:
    """A parsed call that may not run is blocked; one that cannot be parsed is broken."""
    view = _build_view(WRONG, build_exchange(calls=[call]))

    assert view.exchanges[0].cards[0].status == status
