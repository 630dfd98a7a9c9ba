"""One question over the wire: written by the adapter, sent, and its answer read."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from probes.adapters.base import Adapter
from probes.adapters.request_url import request_url
from probes.errors import (
    Overloaded,
    ProbesError,
    ProviderError,
    Refused,
    StreamBroken,
    TransportError,
    WireError,
)
from probes.events import Event, ReplyEnded
from probes.exchange_evidence import Exchange
from probes.findings import FindingKind
from probes.http_messages import WireRequest, WireResponse
from probes.http_reply import read_http_reply
from probes.messages import JSON, NOT_STREAMED, Breakage, Deviation, Reply, Stop
from probes.output_limit import OutputLimit, learn_limit, sent_limit
from probes.pacing import Pacer, may_pass
from probes.reply_limits import check_reply_size, check_stream_lines
from probes.suite.base import Answer, Question
from probes.target import Target
from probes.transport import Transport


@dataclass
class Learnt:
    """What refusals have taught about the endpoint's requests, for the rest of the run.

    Which reasoning it takes back is learnt by the scripts: `ReplayLessons`.
    """

    output_limit: OutputLimit = field(default_factory=OutputLimit)

    def takes_lesson(
        self, body: Mapping[str, JSON], sent: Mapping[str, JSON], refusal: Refused
    ) -> bool:
        """Whether the request can now be written in another way."""
        if self.output_limit.apply(body) == sent:
            # Without our own words, which name the status.
            vendors_words = refusal.message.partition(f"({refusal.status}): ")[2]
            self.output_limit = learn_limit(self.output_limit, sent, vendors_words)
        return self.output_limit.apply(body) != sent


@dataclass(frozen=True, slots=True)
class EndpointClient:
    """Sends questions to one endpoint."""

    target: Target
    adapter: Adapter
    transport: Transport
    pacer: Pacer
    learnt: Learnt = field(default_factory=Learnt)

    async def ask(
        self, question: Question, probe: str = ""
    ) -> tuple[Exchange, Answer | ProbesError]:
        """The exchange as far as it got, and the answer or the error. `probe` asks it."""
        exchange = Exchange(label=question.label)
        sending = _Sending(self.transport)
        try:
            body = self.adapter.write_request(question.call)
            for last in (False, False, True):
                sent = self.learnt.output_limit.apply(body)
                outgoing = self._build_request(question, sent)
                incoming = await self._send(sending, outgoing, question)
                exchange = replace(exchange, incoming=incoming)
                try:
                    reply = read_reply(self.adapter, incoming, streamed=question.call.stream)
                    break
                except Refused as exc:
                    if last or not self.learnt.takes_lesson(body, sent, exc):
                        raise
        except ProbesError as exc:
            exchange = replace(exchange, error=exc.message)
            if not sending.requests:
                # Never sent: the endpoint was given up, or the request could not be written.
                return exchange, exc
            exchange = replace(exchange, incoming=exc.received or exchange.incoming)
            error = _as_broken_stream(exc) if question.call.stream else exc
            exchange = sending.record(exchange, outgoing, is_reached=is_reached(error, question))
            self.pacer.record_outcome(exc, probe)
            # The exchange keeps as much of it as evidence needs.
            error.received = None
            return exchange.without_excess(), as_answer(error, question) or error
        self.pacer.record_outcome(None)
        exchange = sending.record(exchange, outgoing, is_reached=True)
        limit = OutputLimit(sent_limit(sent), self.learnt.output_limit.cap)
        # Its parts and `extra` hold everything that is needed of the parsed body.
        reply = replace(reply, raw={})
        exchange = replace(exchange, reply=reply, output_limit=limit)
        return exchange.without_excess(), Answer(reply)

    async def _send(
        self, sending: _Sending, outgoing: WireRequest, question: Question
    ) -> WireResponse:
        def is_retryable(incoming: WireResponse) -> bool:
            is_settled = question.may_fail and incoming.status >= 500 and sending.requests > 1
            return not is_settled and self._is_retryable(incoming)

        return await self.pacer.send(lambda: sending.send(outgoing), is_retryable)

    def _is_retryable(self, incoming: WireResponse) -> bool:
        """Whether an answer is the server's trouble; a 500 can also report a fault of the model."""
        if not may_pass(incoming):
            return False
        try:
            read_http_reply(self.adapter, incoming)
        except ProviderError as exc:
            return exc.retryable
        return False

    def _build_request(self, question: Question, body: Mapping[str, JSON]) -> WireRequest:
        target, adapter, call = self.target, self.adapter, question.call
        return WireRequest(
            method="POST",
            url=request_url(adapter, target.base_url, target.model, stream=call.stream),
            headers={"Content-Type": "application/json", **adapter.headers(target.key)},
            body=json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"),
            may_be_long=call.stream,
        )


@dataclass
class _Sending:
    """The requests of one question: the first, and its retries."""

    transport: Transport
    requests: int = 0
    answers: list[WireResponse] = field(default_factory=list)
    took_s: float = 0

    async def send(self, outgoing: WireRequest) -> WireResponse:
        self.requests += 1
        started = asyncio.get_running_loop().time()
        try:
            incoming = await self.transport.send(outgoing)
        finally:
            self.took_s += asyncio.get_running_loop().time() - started
        self.answers.append(incoming.head())
        return incoming

    def record(
        self, exchange: Exchange, outgoing: WireRequest, *, is_reached: bool | None
    ) -> Exchange:
        retried = tuple(self.answers[: self.requests - 1])
        return replace(
            exchange, outgoing=outgoing, took_s=self.took_s, retried=retried, is_reached=is_reached
        )


def is_reached(error: ProbesError, question: Question) -> bool | None:
    """Whether the endpoint took the request, whatever it thought of it.

    None if a server error may be its opinion of what is in the question.
    """
    if question.may_fail and (isinstance(error, Overloaded) or type(error) is TransportError):
        return None
    return isinstance(error, Refused | WireError)


def as_answer(error: ProbesError, question: Question) -> Answer | None:
    """The answer that an error is for a script, or None if it ends the script."""
    if isinstance(error, Refused):
        return Answer(refusal=error)
    if isinstance(error, StreamBroken) and question.may_break:
        return Answer(broken=error)
    return _as_failed(error) if question.may_fail else None


def _as_failed(error: ProbesError) -> Answer | None:
    """The answer that a server error or a lost connection is for a question that may fail."""
    if isinstance(error, StreamBroken) or type(error) is TransportError:
        return Answer(broken=error)
    return Answer(refusal=_as_refusal(error)) if isinstance(error, Overloaded) else None


def _as_refusal(error: Overloaded) -> Refused:
    kind, received = FindingKind.PROVIDER_ERROR, error.received
    return Refused(error.status, error.message, kind, received=received)


def read_reply(adapter: Adapter, incoming: WireResponse, *, streamed: bool) -> Reply:
    """Read a whole or streamed reply from a response, or raise the ProbesError that it means."""
    if not streamed or incoming.status != 200:
        reply = read_http_reply(adapter, incoming)
    elif _is_unstreamed(adapter, incoming):
        reply = read_http_reply(adapter, incoming)
        reply = replace(reply, deviations=(*reply.deviations, Deviation(NOT_STREAMED, "$")))
    else:
        reply = _read_stream(adapter, incoming)
    check_reply_size(reply, incoming)
    return reply


def _read_stream(adapter: Adapter, incoming: WireResponse) -> Reply:
    check_stream_lines(incoming)
    reader = adapter.read_stream()
    last: deque[Event] = deque(maxlen=1)
    for chunk in incoming.chunks:
        last.extend(reader.feed(chunk.data))
    last.extend(reader.close())
    end = last.pop()
    assert isinstance(end, ReplyEnded)
    # A call that the engine could not parse is a finding; a call that was cut off is not.
    unparsed = [call for call in end.reply.broken if call.kind is not Breakage.TRUNCATED_CALL]
    if end.reply.stop is Stop.ERROR and not unparsed:
        message = "The stream broke off, or carried an error in place of the rest."
        raise StreamBroken(incoming.status, message, received=incoming)
    return end.reply


def _as_broken_stream(error: ProbesError) -> ProbesError:
    """A connection that ended after a stream began is a broken stream."""
    received = error.received
    if type(error) is not TransportError or received is None or received.status != 200:
        return error
    return StreamBroken(received.status, error.message, received=received)


def _is_unstreamed(adapter: Adapter, incoming: WireResponse) -> bool:
    """Whether the answer is not a stream although one was requested."""
    if adapter.format == "ollama":
        # One line of a stream is a complete answer, and is read as one.
        return False
    kind = incoming.headers.get("content-type", "")
    is_event = incoming.body.lstrip()[:6].startswith((b"data:", b"event:", b":"))
    is_object = incoming.body.lstrip()[:1] == b"{"
    return (is_object or kind.startswith(("application/json", "text/html"))) and not is_event
