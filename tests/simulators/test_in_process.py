"""Requests to vendors without sockets, in virtual time."""

from __future__ import annotations

import asyncio
import json

import pytest

from probes.errors import ProbesError, TimedOut, TooLarge, TransportError
from probes.http_messages import WireRequest, WireResponse
from probes.target import Limits
from simulators import virtual_time
from simulators.in_process import InProcessTransport
from simulators.server import build_app

QUESTION = {"model": "sim-steady", "messages": [{"role": "user", "content": "Say hello."}]}


def ask(path: str, *, stream: bool = False, limits: Limits | None = None) -> WireResponse:
    """The answer of a vendor with a latency of 0.5 s, in virtual time."""
    body = json.dumps({**QUESTION, "stream": stream}).encode()
    outgoing = WireRequest(
        "POST",
        f"http://vendors.test{path}/chat/completions",
        {"Content-Type": "application/json"},
        body,
    )
    transport = InProcessTransport(build_app(latency=(0.5, 0.5)), limits)
    return virtual_time.run(transport.send(outgoing))


def test_a_whole_answer_has_the_vendors_latency() -> None:
    """An answer has the vendor's latency without real waiting."""
    incoming = ask("/open/v1")

    assert (incoming.status, incoming.first_byte_ms, incoming.total_ms) == (200, 500, 500)
    assert json.loads(incoming.body)["object"] == "chat.completion"
    assert incoming.headers["content-type"] == "application/json"


def test_a_streamed_answer_keeps_its_pieces_and_their_times() -> None:
    """A streamed answer arrives in the vendor's pieces, at their times."""
    incoming = ask("/with/slow-chunks,value=2/open/v1", stream=True)

    times = [chunk.ms for chunk in incoming.chunks]
    assert times == [500 + 2000 * number for number in range(len(times))]
    assert len(times) > 2
    assert incoming.body.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize(
    ("fault", "error"),
    [("stall", TimedOut), ("cut", TransportError), ("endless", TooLarge), ("drip", TimedOut)],
)
def test_a_broken_answer_raises_the_same_error_as_over_a_socket(
    fault: str, error: type[ProbesError]
) -> None:
    """No fault of a vendor can hang a simulation."""
    with pytest.raises(error):
        ask(f"/with/{fault}/open/v1", stream=True, limits=Limits(max_bytes=100_000))


def test_virtual_time_advances_by_the_waits() -> None:
    """A month of waiting is a month on the loop's clock."""

    async def wait() -> float:
        await asyncio.gather(asyncio.sleep(2_592_000), asyncio.sleep(60))
        return asyncio.get_running_loop().time()

    assert virtual_time.run(wait()) == pytest.approx(2_592_000)


def test_waiting_without_a_timer_is_an_error() -> None:
    """Virtual time raises an error if no timer is set."""
    with pytest.raises(RuntimeError, match="no timer"):
        virtual_time.run(asyncio.Event().wait())
