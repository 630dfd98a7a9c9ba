from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from probes.errors import ConnectFailed, Overloaded, StreamBroken
from probes.http_messages import WireResponse
from probes.pacing import DEFAULT_REST_S, MAX_REST_S, MAX_TRIES, Pacer
from simulators import virtual_time

GOOD = WireResponse(200)
Send = Callable[[], Awaitable[WireResponse]]


def slow_down(after: str | None = None) -> WireResponse:
    return WireResponse(429, {} if after is None else {"retry-after": after})


class Endpoint:
    """Gives its answers in order, the last one forever, and records the request times."""

    def __init__(self, *answers: WireResponse, takes: float = 0) -> None:
        self.answers = list(answers)
        self.takes = takes
        self.asked_at: list[float] = []
        self.in_flight = self.most = 0

    async def __call__(self) -> WireResponse:
        self.asked_at.append(round(virtual_time.now(), 6))
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        await asyncio.sleep(self.takes)
        self.in_flight -= 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def send_many(endpoint: Endpoint, times: int = 1, at_once: int = 4) -> list[WireResponse]:
    """The results of this many concurrent requests."""

    async def main() -> list[WireResponse]:
        pacer = Pacer(at_once)
        return await asyncio.gather(*(pacer.send(endpoint) for _ in range(times)))

    return virtual_time.run(main())


def test_an_answer_is_handed_on_as_it_is() -> None:
    """An answer that will not pass is requested once."""
    for status in (200, 400, 401, 404):
        endpoint = Endpoint(WireResponse(status))

        assert send_many(endpoint) == [WireResponse(status)]
        assert endpoint.asked_at == [0]


def test_a_request_is_repeated_after_the_wait_that_is_asked_for() -> None:
    """Retry-After is honoured to the second."""
    endpoint = Endpoint(slow_down("7"), slow_down("2.5"), GOOD)

    assert send_many(endpoint) == [GOOD]
    assert endpoint.asked_at == [0, 7, 9.5]


def test_a_server_error_is_repeated_like_a_429() -> None:
    """Retry-After is honoured, and without it the wait doubles; then the error is returned."""
    busy, broken = WireResponse(503, {"retry-after": "7"}), WireResponse(500)
    once, always = Endpoint(busy, GOOD), Endpoint(broken)

    assert (send_many(once), once.asked_at) == ([GOOD], [0, 7])
    assert (send_many(always), always.asked_at) == ([broken], [0, 1, 3, 7])


def test_only_the_request_with_a_server_error_waits() -> None:
    """An endpoint that has answered is not down: the other requests go on."""
    endpoint = Endpoint(WireResponse(500), GOOD)

    async def main() -> None:
        pacer = Pacer(2)
        pacer.record_outcome(None)
        first = asyncio.create_task(pacer.send(endpoint))
        await asyncio.sleep(0.25)
        await asyncio.gather(first, pacer.send(endpoint))

    virtual_time.run(main())

    assert endpoint.asked_at == [0, 0.25, 1]


def test_while_one_waits_all_wait() -> None:
    """A request that begins during the pause is not sent before its end."""
    endpoint = Endpoint(slow_down("10"), GOOD)

    async def main() -> None:
        pacer = Pacer(4)
        first = asyncio.create_task(pacer.send(endpoint))
        await asyncio.sleep(3)
        await asyncio.gather(first, pacer.send(endpoint), pacer.send(endpoint))

    virtual_time.run(main())

    assert endpoint.asked_at == [0, 10, 10, 10]


def test_a_shorter_wait_does_not_end_a_longer_one() -> None:
    """Of two different waits, the later end applies to all."""
    endpoint = Endpoint(slow_down("10"), slow_down("1"), GOOD)

    assert send_many(endpoint, times=2) == [GOOD, GOOD]
    assert endpoint.asked_at == [0, 0, 10, 10]


def test_without_a_number_the_rest_doubles_and_then_the_refusal_stands() -> None:
    """Repeated 429 answers end in a 429 after the maximum number of tries."""
    endpoint = Endpoint(slow_down())

    assert send_many(endpoint) == [slow_down()]
    assert len(endpoint.asked_at) == MAX_TRIES
    rests = [later - sooner for sooner, later in pairwise(endpoint.asked_at)]
    assert rests == [DEFAULT_REST_S * 2**n for n in range(MAX_TRIES - 1)]


def test_too_long_a_wait_is_given_up_and_binds_nobody() -> None:
    """The 429 is returned at once, and the next request is sent."""
    endpoint = Endpoint(slow_down(str(MAX_REST_S + 1)), GOOD)

    async def main() -> list[WireResponse]:
        pacer = Pacer(1)
        return [await pacer.send(endpoint), await pacer.send(endpoint)]

    first, second = virtual_time.run(main())

    assert (first.status, second) == (429, GOOD)
    assert endpoint.asked_at == [0, 0]


@pytest.mark.parametrize("at_once", [1, 3])
def test_no_more_than_so_many_are_in_flight(at_once: int) -> None:
    """The limit holds and is fully used, also across a pause."""
    endpoint = Endpoint(slow_down("2"), GOOD, takes=1)

    assert len(send_many(endpoint, times=10, at_once=at_once)) == 10
    assert (endpoint.most, endpoint.in_flight) == (at_once, 0)


def test_trouble_frees_its_place() -> None:
    """A failed request does not block the next."""

    async def refuse() -> WireResponse:
        raise ConnectFailed("refused")

    async def main() -> WireResponse:
        pacer = Pacer(1)
        with pytest.raises(ConnectFailed):
            await pacer.send(refuse)
        return await pacer.send(Endpoint(GOOD))

    assert virtual_time.run(main()) == GOOD


def test_a_cancelled_rest_frees_its_place() -> None:
    """A run that is stopped during a pause leaves nothing behind."""
    endpoint = Endpoint(slow_down("20"), GOOD)

    async def main() -> tuple[WireResponse, set[str]]:
        pacer = Pacer(1)
        resting = asyncio.create_task(pacer.send(endpoint))
        await asyncio.sleep(5)
        resting.cancel()
        await asyncio.gather(resting, return_exceptions=True)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        return await pacer.send(endpoint), {repr(task) for task in others}

    assert virtual_time.run(main()) == (GOOD, set())


def test_streams_that_break_off_do_not_give_the_endpoint_up() -> None:
    """They may come first, and whole answers of the same endpoint still arrive."""
    pacer = Pacer(1)

    for probe in ("format", "schema_types", "round_trip", "streaming"):
        pacer.record_outcome(StreamBroken(200, "The stream broke off."), probe)
    assert pacer.given_up is None

    for probe in ("format", "schema_types", "round_trip"):
        pacer.record_outcome(Overloaded(503, "Busy."), probe)
    assert pacer.given_up is not None
