"""One question over the wire: written by the adapter, sent, and its answer read."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace

from probes.adapters.base import Adapter
from probes.adapters.request_url import request_url
from probes.errors import Overloaded, ProbesError, Refused
from probes.events import ReplyEnded
from probes.exchange_evidence import Exchange
from probes.http_messages import WireRequest, WireResponse
from probes.http_reply import read_http_reply
from probes.messages import Breakage, Reply, Stop
from probes.pacing import Pacer
from probes.suite.base import Answer, Question
from probes.target import Target
from probes.transport import Transport


@dataclass(frozen=True, slots=True)
class EndpointClient:
    """Sends questions to one endpoint."""

    target: Target
    adapter: Adapter
    transport: Transport
    pacer: Pacer

    async def ask(self, question: Question) -> tuple[Exchange, Answer | ProbesError]:
        """The exchange as far as it got, and the answer or the error."""
        exchange = Exchange(label=question.label)
        sending_s, sent = 0.0, False

        async def send() -> WireResponse:
            nonlocal sending_s, sent
            sent = True
            started = asyncio.get_running_loop().time()
            try:
                return await self.transport.send(outgoing)
            finally:
                sending_s += asyncio.get_running_loop().time() - started

        try:
            outgoing = self._build_request(question)
            incoming = await self.pacer.send(send)
            exchange = replace(exchange, outgoing=outgoing, incoming=incoming)
            reply = read_reply(self.adapter, incoming, streamed=question.call.stream)
        except ProbesError as exc:
            if not sent:
                # Never sent: the endpoint was given up, or the request could not be written.
                return replace(exchange, error=exc.message), exc
            received = exc.received or exchange.incoming
            exchange = replace(exchange, outgoing=outgoing, incoming=received, took_s=sending_s)
            exchange = replace(exchange, error=exc.message)
            self.pacer.record_outcome(None if isinstance(exc, Refused) else exc)
            return exchange, Answer(refusal=exc) if isinstance(exc, Refused) else exc
        self.pacer.record_outcome(None)
        return replace(exchange, reply=reply, took_s=sending_s), Answer(reply)

    def _build_request(self, question: Question) -> WireRequest:
        target, adapter, call = self.target, self.adapter, question.call
        body = adapter.write_request(call)
        return WireRequest(
            method="POST",
            url=request_url(adapter, target.base_url, target.model, stream=call.stream),
            headers={"Content-Type": "application/json", **adapter.headers(target.key)},
            body=json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"),
        )


def read_reply(adapter: Adapter, incoming: WireResponse, *, streamed: bool) -> Reply:
    """Read a whole or streamed reply from a response, or raise the ProbesError that it means."""
    if not streamed or incoming.status != 200 or _is_unstreamed(adapter, incoming):
        return read_http_reply(adapter, incoming)
    reader = adapter.read_stream()
    events = [event for chunk in incoming.chunks for event in reader.feed(chunk.data)]
    events += reader.close()
    end = events[-1]
    assert isinstance(end, ReplyEnded)
    # A call that the engine could not parse is a finding; a call that was cut off is not.
    unparsed = [call for call in end.reply.broken if call.kind is not Breakage.TRUNCATED_CALL]
    if end.reply.stop is Stop.ERROR and not unparsed:
        message = "The stream broke off, or carried an error in place of the rest."
        raise Overloaded(incoming.status, message, received=incoming)
    return end.reply


def _is_unstreamed(adapter: Adapter, incoming: WireResponse) -> bool:
    """Whether the answer is not a stream although one was requested."""
    if adapter.format == "ollama":
        # One line of a stream is a complete answer, and is read as one.
        return False
    kind = incoming.headers.get("content-type", "")
    is_event = incoming.body.lstrip()[:6].startswith((b"data:", b"event:", b":"))
    return kind.startswith(("application/json", "text/html")) and not is_event
