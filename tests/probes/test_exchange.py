from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import httpx
import pytest

from probes.adapters import adapter_for
from probes.errors import ConnectFailed, NotJSON, Overloaded, ProbesError, WireError
from probes.exchange import EndpointClient
from probes.exchange_evidence import Exchange
from probes.messages import BrokenCall, ModelCall, Role, Stop, Text, Turn
from probes.pacing import Pacer
from probes.secret import Secret
from probes.suite import Answer, Question
from probes.target import Provider, Target
from probes.transport import Transport
from tests.probes.httpx_responses import answer

pytestmark = pytest.mark.anyio

TARGET = Target(Provider.OPENAI, "https://e.test/v1", "m", Secret("sim-canary-4711"))
CALL = ModelCall("m", (Turn(Role.USER, (Text("Grüße"),)),))
WHOLE_ANSWER = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}
Handler = Callable[[httpx.Request], httpx.Response]


async def ask(
    handle: Handler, *, stream: bool = False, target: Target = TARGET
) -> tuple[Exchange, Answer | ProbesError]:
    async with Transport(inner=httpx.MockTransport(handle)) as transport:
        asker = EndpointClient(target, adapter_for(target.provider), transport, Pacer(1))
        return await asker.ask(Question(replace(CALL, stream=stream), "the label"))


def sse(*events: Mapping[str, Any], done: bool = True, kind: str = "text/event-stream") -> Handler:
    lines = [f"data: {json.dumps(event)}\n\n" for event in events]
    body = "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode()
    return lambda request: answer(200, body, content_type=kind)


def delta(finish: str | None = None, **delta_fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta_fields, "finish_reason": finish}]}


def arguments(text: str) -> dict[str, Any]:
    function = {"name": "probe_add", "arguments": text}
    return delta(tool_calls=[{"index": 0, "id": "c1", "type": "function", "function": function}])


END = delta("tool_calls")


async def test_an_exchange_keeps_both_sides_and_the_reply() -> None:
    """The request, the response and the parsed reply are kept together."""
    exchange, result = await ask(lambda request: answer(200, WHOLE_ANSWER))

    assert isinstance(result, Answer)
    assert result.reply is not None
    assert (result.reply.text, result.refusal) == ("hi", None)
    assert (exchange.label, exchange.reply, exchange.error) == ("the label", result.reply, None)
    assert exchange.outgoing is not None
    assert exchange.outgoing.url == "https://e.test/v1/chat/completions"
    assert exchange.outgoing.headers["Authorization"] == "Bearer sim-canary-4711"
    assert "Grüße" in exchange.outgoing.body.decode()
    assert exchange.incoming is not None
    assert json.loads(exchange.incoming.body) == WHOLE_ANSWER


async def test_a_refusal_is_an_answer() -> None:
    """The script judges a refusal."""
    body = {"error": {"message": "m does not support tools"}}

    exchange, result = await ask(lambda request: answer(400, body))

    assert isinstance(result, Answer)
    assert result.refusal is not None
    assert result.refusal.kind == "no_tools"
    assert exchange.error == result.refusal.message
    assert exchange.incoming is not None
    assert exchange.incoming.status == 400


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [(503, b"", Overloaded), (200, b"<html>", NotJSON), (200, {"choices": []}, WireError)],
)
async def test_trouble_is_handed_back_with_what_had_arrived(
    status: int, body: object, kind: type[ProbesError]
) -> None:
    """Errors are returned, not raised, so that the exchange is kept."""
    exchange, result = await ask(lambda request: answer(status, body))

    assert isinstance(result, kind)
    assert exchange.error == result.message
    assert exchange.incoming is not None
    assert exchange.incoming.status == status
    assert exchange.reply is None


async def test_an_endpoint_that_is_not_there_leaves_the_question_as_evidence() -> None:
    """There is no response, but the request is known."""

    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    exchange, result = await ask(refuse)

    assert isinstance(result, ConnectFailed)
    assert exchange.outgoing is not None
    assert exchange.incoming is None


async def test_a_stream_is_read_to_its_end() -> None:
    """Fragments of a call are joined, and the request asks for a stream."""
    requests: list[httpx.Request] = []
    stream = sse(arguments('{"a": 1,'), delta(tool_calls=[more('"b": 2}')]), END)

    def handle(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return stream(request)

    _, result = await ask(handle, stream=True)

    assert isinstance(result, Answer)
    assert result.reply is not None
    assert [(c.name, c.input) for c in result.reply.calls] == [("probe_add", {"a": 1, "b": 2})]
    assert json.loads(requests[0].content)["stream"] is True


def more(text: str) -> dict[str, Any]:
    return {"index": 0, "function": {"arguments": text}}


async def test_the_stream_has_its_own_address_where_the_format_says_so() -> None:
    """Gemini streams under another method."""
    target = Target(Provider.GEMINI, "https://e.test", "m")

    exchange, _ = await ask(lambda request: answer(200, b""), stream=True, target=target)

    assert exchange.outgoing is not None
    assert ":streamGenerateContent" in exchange.outgoing.url


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8"])
async def test_a_whole_answer_to_a_streamed_question_is_read_as_one(kind: str) -> None:
    """An endpoint that cannot stream may still answer."""
    _, result = await ask(lambda request: answer(200, WHOLE_ANSWER, content_type=kind), stream=True)

    assert isinstance(result, Answer)
    assert result.reply is not None
    assert result.reply.text == "hi"


async def test_a_stream_under_the_wrong_content_type_is_read_as_a_stream() -> None:
    """The bytes decide."""
    stream = sse(delta(content="hi"), delta("stop"), kind="application/json")

    _, result = await ask(stream, stream=True)

    assert isinstance(result, Answer)
    assert result.reply is not None
    assert result.reply.text == "hi"


async def test_a_web_page_in_place_of_a_stream_is_named() -> None:
    """As for an unstreamed answer."""
    _, result = await ask(lambda r: answer(200, b"<html>", content_type="text/html"), stream=True)

    assert isinstance(result, NotJSON)


@pytest.mark.parametrize(
    "stream",
    [
        sse(arguments('{"a": 1,'), done=False),
        sse(delta(content="We"), done=False),
        sse(delta(content="We"), {"error": {"message": "boom"}}),
        sse(done=False),
    ],
)
async def test_a_stream_that_breaks_off_is_no_verdict(stream: Handler) -> None:
    """Cut in a call, cut in text, an error instead of the rest, or nothing at all."""
    exchange, result = await ask(stream, stream=True)

    assert isinstance(result, Overloaded)
    assert "broke off" in result.message
    assert exchange.incoming is not None


async def test_a_call_that_the_model_wrote_wrongly_is_kept_though_an_error_follows() -> None:
    """A call that the engine could not parse is the model's fault, not the connection's."""
    stream = sse(arguments('{"a": 1,,}'), END, {"error": {"message": "boom"}})

    _, result = await ask(stream, stream=True)

    assert isinstance(result, Answer)
    assert result.reply is not None
    assert result.reply.stop is Stop.ERROR
    assert [type(part) for part in result.reply.parts] == [BrokenCall]


@pytest.mark.parametrize("status", [400, 503])
async def test_an_error_status_of_a_streamed_question_is_read_as_an_error(status: int) -> None:
    """Errors are not streamed."""
    body = {"error": {"message": "m does not support tools"}}

    _, result = await ask(lambda request: answer(status, body), stream=True)

    assert isinstance(result, Answer) == (status == 400)
