from __future__ import annotations

from gateway import breaker as breakers
from gateway.breaker import Breaker


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def opened(clock: Clock) -> Breaker:
    breaker = Breaker(clock)
    for _ in range(breakers.CONNECT_FAILURES):
        breaker.record(is_up=False, is_connect=True)
    return breaker


def test_connect_failures_in_a_row_open_it() -> None:
    clock = Clock()
    breaker = Breaker(clock)
    for _ in range(breakers.CONNECT_FAILURES - 1):
        breaker.record(is_up=False, is_connect=True)
    assert breaker.wait_s() == 0

    breaker.record(is_up=False, is_connect=True)
    assert breaker.wait_s() > 10


def test_half_of_many_requests_failing_opens_it_and_few_do_not() -> None:
    breaker = Breaker(Clock())
    for number in range(breakers.MIN_REQUESTS - 1):
        breaker.record(is_up=number % 2 == 0)
    assert breaker.wait_s() == 0

    breaker.record(is_up=False)
    assert breaker.wait_s() > 0


def test_old_failures_are_forgotten() -> None:
    clock = Clock()
    breaker = Breaker(clock)
    for _ in range(breakers.MIN_REQUESTS - 1):
        breaker.record(is_up=False)
    clock.now += breakers.WINDOW_S + 1
    breaker.record(is_up=False)

    assert breaker.wait_s() == 0


def test_it_lets_one_request_at_a_time_try_again_and_closes_after_three() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now += breakers.FIRST_PAUSE_S * 1.2
    for _ in range(breakers.CLOSING_SUCCESSES):
        assert breaker.wait_s() == 0
        breaker.begin()
        assert breaker.wait_s() > 0, "another one waits"
        breaker.record(is_up=True)

    breaker.begin()
    assert breaker.wait_s() == 0


def test_a_failed_try_doubles_the_pause() -> None:
    clock = Clock()
    breaker = opened(clock)
    first = breaker.wait_s()
    clock.now += first + 1
    breaker.begin()
    breaker.record(is_up=False)

    assert breaker.wait_s() > 1.4 * first
