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
    """Asks one endpoint."""

    target: Target
    adapter: Adapter
    transport: Transport
    pacer: Pacer

    async def ask(self, question: Question) -> tuple[Exchange, Answer | ProbesError]:
        """The exchange as far as it got, and the answer or what stood in its way."""
        exchange = Exchange(label=question.label)
        took, sent = 0.0, False

        async def send() -> WireResponse:
            nonlocal took, sent
            sent = True
            begun = asyncio.get_running_loop().time()
            try:
                return await self.transport.send(outgoing)
            finally:
                took += asyncio.get_running_loop().time() - begun

        try:
            outgoing = self._outgoing(question)
            incoming = await self.pacer.send(send)
            exchange = replace(exchange, outgoing=outgoing, incoming=incoming)
            reply = read_reply(self.adapter, incoming, streamed=question.call.stream)
        except ProbesError as exc:
            if not sent:
                # It was never sent: we had given up, or could not write it.
                return replace(exchange, error=exc.message), exc
            arrived = exc.received or exchange.incoming
            exchange = replace(exchange, outgoing=outgoing, incoming=arrived, took_s=took)
            exchange = replace(exchange, error=exc.message)
            self.pacer.note(None if isinstance(exc, Refused) else exc)
            return exchange, Answer(refusal=exc) if isinstance(exc, Refused) else exc
        self.pacer.note(None)
        return replace(exchange, reply=reply, took_s=took), Answer(reply)

    def _outgoing(self, question: Question) -> WireRequest:
        target, adapter, call = self.target, self.adapter, question.call
        body = adapter.write_request(call)
        return WireRequest(
            method="POST",
            url=request_url(adapter, target.base_url, target.model, stream=call.stream),
            headers={"Content-Type": "application/json", **adapter.headers(target.key)},
            body=json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"),
        )


def read_reply(adapter: Adapter, incoming: WireResponse, *, streamed: bool) -> Reply:
    """The reply that an answer carries, whole or streamed; raises the ProbesError it is else."""
    if not streamed or incoming.status != 200 or _is_whole(adapter, incoming):
        return read_http_reply(adapter, incoming)
    reader = adapter.read_stream()
    events = [event for chunk in incoming.chunks for event in reader.feed(chunk.data)]
    events += reader.close()
    ended = events[-1]
    assert isinstance(ended, ReplyEnded)
    # A call that an engine could not read itself is a finding; one that was cut off is not.
    unread = [call for call in ended.reply.broken if call.kind is not Breakage.TRUNCATED_CALL]
    if ended.reply.stop is Stop.ERROR and not unread:
        message = "The stream broke off, or carried an error in place of the rest."
        raise Overloaded(incoming.status, message, received=incoming)
    return ended.reply


def _is_whole(adapter: Adapter, incoming: WireResponse) -> bool:
    """Whether a whole answer came although a stream was asked for."""
    if adapter.format == "ollama":
        # One line of a stream is a whole answer, and read as such.
        return False
    kind = incoming.headers.get("content-type", "")
    is_event = incoming.body.lstrip()[:6].startswith((b"data:", b"event:", b":"))
    return kind.startswith(("application/json", "text/html")) and not is_event
