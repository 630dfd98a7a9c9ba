"""Servers close idle connections, also while the next request is on its way."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from health.run_report import compute_rates, usage_json
from probes.egress_rules import EgressRules, parse_grants
from probes.errors import TransportError
from probes.outcomes import Attempt, Metric, Outcome
from probes.runner import run_trials
from probes.suite import Trial
from probes.target import Provider, Target
from probes.transport import Transport, WireRequest

pytestmark = pytest.mark.anyio
MESSAGE = {"role": "assistant", "content": "Hello."}
CHOICE = {"index": 0, "message": MESSAGE, "finish_reason": "stop"}
BODY = json.dumps({"object": "chat.completion", "model": "m", "choices": [CHOICE]}).encode()
LOOPBACK = EgressRules(parse_grants("127.0.0.1"))


@dataclass
class ClosingServer:
    """Answers the first requests of a connection, and closes it when the next one arrives.

    That is what a client sees of a server that closed the connection a moment before.
    """

    answers: int = 1
    last_words: bytes = b""  # sent before the connection closes
    resets: bool = False
    requests: list[int] = field(default_factory=list)  # the number of the connection of each
    connections: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            for _ in range(self.answers):
                await self._read(reader, number)
                head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(BODY)}\r\n"
                head += "content-type: application/json\r\n\r\n"
                writer.write(head.encode() + BODY)
                await writer.drain()
            await self._read(reader, number)
            writer.write(self.last_words)
            await writer.drain()
        self._close(writer)

    async def _read(self, reader: asyncio.StreamReader, number: int) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        (length,) = [
            int(line.split(b":")[1])
            for line in head.splitlines()
            if line.lower().startswith(b"content-length")
        ]
        await reader.readexactly(length)
        self.requests.append(number)

    def _close(self, writer: asyncio.StreamWriter) -> None:
        if self.resets:
            # Without lingering, closing a socket resets its connection.
            sock = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.close()


@contextlib.asynccontextmanager
async def running(server: ClosingServer) -> AsyncIterator[str]:
    async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"


def ask(url: str) -> WireRequest:
    return WireRequest("POST", url, {"content-type": "application/json"}, b"{}")


@pytest.mark.parametrize("resets", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize("egress", [None, LOOPBACK], ids=["any-address", "guarded"])
async def test_a_request_on_a_closed_connection_is_sent_again_once(
    egress: EgressRules | None, resets: bool
) -> None:
    """On a new connection; the answer says so."""
    server = ClosingServer(resets=resets)

    async with running(server) as url, Transport(egress=egress) as transport:
        answers = [await transport.send(ask(url)) for _ in range(2)]

    assert [answer.body for answer in answers] == [BODY, BODY]
    assert [answer.reconnected for answer in answers] == [False, True]
    assert server.requests == [1, 1, 2]


async def test_no_other_kept_connection_is_tried() -> None:
    """They may all be closed."""
    server = ClosingServer()

    async with running(server) as url, Transport() as transport:
        await asyncio.gather(*(transport.send(ask(url)) for _ in range(4)))
        kept = server.connections
        again = await transport.send(ask(url))

    assert again.reconnected
    assert server.connections == kept + 1
    assert server.requests[-1] == kept + 1


async def test_a_new_connection_that_is_closed_is_not_tried_again() -> None:
    """The endpoint closes it, not our own delay."""
    server = ClosingServer(answers=0)

    async with running(server) as url, Transport() as transport:
        with pytest.raises(TransportError, match="closed the connection without an answer"):
            await transport.send(ask(url))

    assert server.requests == [1]


async def test_an_answer_that_began_is_not_asked_for_again() -> None:
    """The endpoint has worked on the request."""
    begun = b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"
    server = ClosingServer(last_words=begun)

    async with running(server) as url, Transport() as transport:
        await transport.send(ask(url))
        with pytest.raises(TransportError, match="before the answer was complete"):
            await transport.send(ask(url))

    assert server.requests == [1, 1]


async def test_noise_on_a_kept_connection_is_no_closed_connection() -> None:
    """The endpoint answered, though not in HTTP."""
    server = ClosingServer(last_words=b"?\r\n\r\n")

    async with running(server) as url, Transport() as transport:
        await transport.send(ask(url))
        with pytest.raises(TransportError, match="not in HTTP"):
            await transport.send(ask(url))

    assert server.requests == [1, 1]


async def test_a_closed_connection_costs_no_verdict_and_leaves_a_trace() -> None:
    """Not the endpoint's fault: it counts in no rate, and is listed with the retries."""
    server = ClosingServer()
    trials = [Trial("format", number) for number in range(1, 5)]

    async with running(server) as url:
        target = Target(Provider.OPENAI, f"{url}v1", "m", max_concurrency=1)
        attempts: list[Attempt] = [a async for a in run_trials(target, trials, seed=1)]

    assert Outcome.VOID not in {attempt.outcome for attempt in attempts}
    rate = compute_rates(v for a in attempts for v in a.verdicts)[Metric.AVAILABILITY]
    assert (rate.trials, rate.failures) == (4, 0)
    assert usage_json(attempts)["retried"] == {"reconnected": 2}
    by_trial = sorted(attempts, key=lambda attempt: attempt.trial)
    evidence: list[Any] = [exchange for a in by_trial for exchange in a.evidence.exchanges]
    assert [exchange.get("reconnects") for exchange in evidence] == [None, 1, None, 1]
