"""Rate limits of tokens, and of failed authentication per address."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from pytest_django import Settings

from dashboard.core import rate_limits
from dashboard.core.rate_limits import Rate
from tests.dashboard.api.client import ApiClient, read_error

WRONG = {"Authorization": "Bearer tg_abcdefgh_" + "x" * 43}


@pytest.fixture
def without_redis(settings: Settings) -> Iterator[None]:
    """Redis is down; afterwards it is used again at once."""
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    yield
    rate_limits._RedisOutage.until = 0.0


def statuses(ask: Callable[[], Any], times: int) -> list[int]:
    return [ask().status_code for _ in range(times)]


def test_a_token_that_asks_too_often_is_slowed(
    make_client: Callable[..., ApiClient], settings: Settings
) -> None:
    """Headers show the remaining calls and when to retry; other tokens are not affected."""
    settings.API_RATE = (3, 3600.0)
    api = make_client("read", "telemetry")

    first = api.get("/endpoints")
    assert first.headers["RateLimit-Policy"] == '"requests";q=3;w=3600'
    assert first.headers["RateLimit"] == '"requests";r=2;t=1200'
    assert statuses(lambda: api.get("/endpoints"), 3) == [200, 200, 429]
    refused = api.get("/endpoints")
    assert read_error(refused)["code"] == "rate_limited"
    assert 0 < int(refused.headers["Retry-After"]) <= 1200
    assert refused.headers["RateLimit"].startswith('"requests";r=0;')
    assert make_client("read").get("/endpoints").status_code == 200
    batch = {"batch_id": str(uuid4()), "events": []}
    assert api.post("/telemetry", batch).status_code == 200


def test_telemetry_has_a_limit_of_its_own(
    make_client: Callable[..., ApiClient], settings: Settings
) -> None:
    """Batches are counted apart from requests."""
    settings.API_TELEMETRY_RATE = (2, 3600.0)
    api = make_client("telemetry")
    batch = {"batch_id": str(uuid4()), "events": []}

    assert statuses(lambda: api.post("/telemetry", batch), 3) == [200, 200, 429]


def test_an_address_that_guesses_tokens_is_slowed(api: ApiClient, settings: Settings) -> None:
    """By the real address, whatever X-Forwarded-For says; valid tokens still work."""
    settings.API_AUTH_FAILURES = (2, 3600.0)
    address = f"10.{uuid4().int % 256}.{uuid4().int % 256}.7"

    def guess() -> Any:
        headers = {**WRONG, "X-Forwarded-For": f"10.9.8.{uuid4().int % 256}"}
        return Client(REMOTE_ADDR=address).get("/api/v1/endpoints", headers=headers)

    assert statuses(guess, 4) == [401, 401, 429, 429]
    right = Client(REMOTE_ADDR=address).get("/api/v1/endpoints", headers=api.headers)
    assert right.status_code == 200
    assert Client(REMOTE_ADDR=address).get("/api/v1/endpoints").status_code == 401


@pytest.mark.usefixtures("without_redis")
def test_without_redis_each_process_counts_and_allows_less(
    make_client: Callable[..., ApiClient], settings: Settings
) -> None:
    """The API still works, with lower limits."""
    settings.API_RATE = (8, 3600.0)
    api = make_client("read")

    assert statuses(lambda: api.get("/endpoints"), 4) == [200, 200, 429, 429]


@pytest.mark.parametrize("count", [rate_limits._count_in_redis, rate_limits.count_in_process])
def test_both_ways_of_counting_tell_the_same(count: Callable[..., Any]) -> None:
    """The whole burst at once, then nothing until the first interval is over."""
    rate, who = Rate("test", 4, 4000.0), uuid4().hex

    results = [count(rate, who) for _ in range(6)]

    assert [result.left for result in results] == [3, 2, 1, 0, 0, 0]
    assert [result.is_allowed for result in results] == [True] * 4 + [False] * 2
    assert 990 <= results[-1].wait_s <= 1000


def test_what_was_used_comes_back() -> None:
    """The allowance refills evenly over time."""
    who = uuid4().hex
    assert rate_limits.count_in_process(Rate("test", 1, 0.01), who).is_allowed

    from tests.live import eventually

    eventually(lambda: rate_limits.count_in_process(Rate("test", 1, 0.01), who).is_allowed)


def test_addresses_of_one_machine_count_as_one() -> None:
    """A /64 counts as one address; so does everything that is no address."""
    of = rate_limits.address_key
    assert of("2001:db8:1:2:3::1") == of("2001:db8:1:2:ffff::9") != of("2001:db8:1:3::1")
    assert (of("192.0.2.1"), of("")) == ("192.0.2.1", "unknown")
    # As a server that listens on :: spells the address of an IPv4 client.
    assert of("::ffff:192.0.2.1") == "192.0.2.1"
