"""A gateway over simulated vendors, with a snapshot made by hand: no database is needed."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from dashboard.core import encryption
from dashboard.live.snapshot import LiveEndpoint, LiveToken, SealedKey, Snapshot
from gateway.app import Gateway, GatewaySettings
from gateway.spool import Spool
from gateway.upstream import Upstream
from health.detector import BaselineState
from health.modes import Mode
from health.policy import resolve_policy
from health.policy_facts import ActiveMode, PolicyFacts
from health.risk import RiskRule
from probes.egress_rules import EgressRules, parse_grants
from probes.secret import Secret
from probes.target import origin
from simulators.background_server import serve_in_background

TOKEN = "tg_testtest_" + "a" * 43
KEY = "sim-gateway"


@dataclass
class FixedFeed:
    """A snapshot that a test replaces by hand."""

    current: Snapshot | None
    age: timedelta = timedelta()

    loop: asyncio.AbstractEventLoop | None = None

    async def start(self) -> None:
        """There is nothing to read."""
        self.loop = asyncio.get_running_loop()

    async def follow(self) -> None:
        """Nothing changes by itself."""


@dataclass
class RunningGateway:
    """A gateway that serves, and what it recorded."""

    url: str
    gateway: Gateway
    feed: FixedFeed
    folder: Path
    seen: list[Mapping[str, Any]] = field(default_factory=list)

    def in_its_loop(self, function: Callable[[], None]) -> None:
        """Call a function of the gateway where it runs."""
        assert self.feed.loop is not None
        self.feed.loop.call_soon_threadsafe(function)

    def base_url(self, slug: str = "live") -> str:
        return f"{self.url}/gateway/{slug}"

    def events(self) -> list[Mapping[str, Any]]:
        """Every exchange that was recorded so far."""
        self.gateway.spool.rotate()
        for batch in self.gateway.spool.closed_batches():
            self.seen += batch.events
            batch.discard()
        return self.seen


def live_endpoint(
    truth: Mapping[str, Any],
    vendors: str,
    *,
    slug: str = "live",
    stage: str = "full",
    modes: tuple[Mode, ...] = (),
    rules: tuple[RiskRule, ...] = (),
    **changed: Any,
) -> LiveEndpoint:
    """An endpoint whose profile says what is true of a simulated vendor."""
    capabilities = {
        name: {"value": value} for name, value in (truth["capabilities"] | changed).items()
    }
    capabilities["parallel_calls"] = {"value": 5}
    facts = PolicyFacts(
        endpoint=slug,
        provider=truth["provider"],
        model=truth["model"],
        endpoint_url=vendors + truth["base_path"],
        chat_template_hash="",
        dialect="",
        epoch=1,
        stage=stage,
        capabilities=capabilities,
        baseline=BaselineState.FROZEN,
        is_stale=False,
        has_new_engine=False,
        below_gate=(),
        automatic=[],
        manual=[ActiveMode(mode, "a test", "2026-05-01T12:00:00+00:00") for mode in modes],
        rules=list(rules),
    )
    return LiveEndpoint(
        id=1,
        slug=slug,
        team_id=None,
        profile_id=1,
        epoch=1,
        provider=facts.provider,
        url=facts.endpoint_url,
        model=facts.model,
        dialect="",
        options={},
        capabilities=capabilities,
        policy_version=7,
        policy=resolve_policy(facts).body,
        key=_sealed_key(facts.endpoint_url),
    )


def _sealed_key(url: str) -> SealedKey:
    bound_to = b"test"
    return SealedKey(encryption.encrypt_secret(Secret(KEY), bound_to), origin(url), bound_to)


def snapshot_of(*endpoints: LiveEndpoint) -> Snapshot:
    digest = hashlib.sha256(TOKEN.encode()).digest()
    token = LiveToken(1, "testtest", digest, None, None)
    by_slug = {endpoint.slug: endpoint for endpoint in endpoints}
    return Snapshot(datetime.now(UTC), "", by_slug, {token.prefix: token})


@contextmanager
def run_gateway(
    folder: Path, *endpoints: LiveEndpoint, settings: GatewaySettings | None = None
) -> Iterator[RunningGateway]:
    feed = FixedFeed(snapshot_of(*endpoints))
    upstream = Upstream(EgressRules(parse_grants("127.0.0.0/8")))
    gateway = Gateway(feed, upstream, Spool(folder), settings=settings)  # type: ignore[arg-type]
    with serve_in_background(gateway, lifespan="on") as url:
        yield RunningGateway(url, gateway, feed, folder)


def read_truth(vendors: str, vendor: str, switches: str = "") -> Any:
    prefix = f"/with/{switches}" if switches else ""
    answer = httpx.get(f"{vendors}{prefix}/_truth/{vendor}", trust_env=False)
    return answer.raise_for_status().json()
