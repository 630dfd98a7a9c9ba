from __future__ import annotations

import pytest

from gateway.rate_limits import RateLimiter, RateLimits
from gateway.refusal import Refusal


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def admit(limiter: RateLimiter, caller: str = "t", endpoint: str = "e") -> None:
    with limiter.admit(caller, endpoint):
        pass


def test_requests_per_minute_are_limited_per_token() -> None:
    """The refusal says when to try again, and then it works."""
    clock = Clock()
    limiter = RateLimiter(RateLimits(token_requests_per_minute=2), clock)
    admit(limiter)
    admit(limiter)
    with pytest.raises(Refusal) as refused:
        admit(limiter)
    admit(limiter, caller="another")

    assert refused.value.status == 429
    assert refused.value.retry_after_s == pytest.approx(30)
    clock.now += 30
    admit(limiter)


@pytest.mark.parametrize(
    "limits", [RateLimits(token_streams=1), RateLimits(endpoint_requests=1)], ids=str
)
def test_requests_in_progress_are_limited_and_given_back(limits: RateLimits) -> None:
    limiter = RateLimiter(limits, Clock())
    with limiter.admit("t", "e"), pytest.raises(Refusal) as refused:
        admit(limiter)

    assert refused.value.status == 503
    admit(limiter)


def test_tokens_that_were_spent_delay_the_next_request() -> None:
    clock = Clock()
    limiter = RateLimiter(RateLimits(token_tokens_per_minute=1000), clock)
    admit(limiter)
    limiter.spend_tokens("t", 1500)
    with pytest.raises(Refusal):
        admit(limiter)
    clock.now += 31

    admit(limiter)
