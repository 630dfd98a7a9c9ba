"""The expected state of runs, tracked without reading the tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import date, timedelta

from dashboard.runs.services import Lease
from health.capabilities import derive_capabilities, settle_verdicts
from health.observation_bits import pack_verdicts
from probes.outcomes import Attempt

LEASE = timedelta(hours=1)
Cost = tuple[int, int]  # requests, tokens
Trial = tuple[int, str, int]  # run, probe, number
Recount = tuple[dict[str, tuple[int, int]], Counter[int]]


@dataclass
class Holding:
    """A granted lease and the time until it expires."""

    lease: Lease
    endpoint_id: int
    time_left: timedelta = LEASE
    is_running: bool = False
    asks_engine: bool = False

    @property
    def is_alive(self) -> bool:
        return self.time_left > timedelta()


@dataclass
class Key:
    """The current profile key of an endpoint, as far as tests change it."""

    epoch: int
    model: str
    template: str = ""

    def follow(self, model: str, template: str) -> None:
        self.epoch, self.model, self.template = self.epoch + 1, model, template


@dataclass
class Model:
    """The state that the tables must agree with."""

    # By run; a lease that is not in here was revoked.
    holders: dict[int, Holding] = field(default_factory=dict)
    # Every accepted attempt, and its row as it was first stored.
    attempts: dict[Trial, Attempt] = field(default_factory=dict)
    stored: dict[Trial, str] = field(default_factory=dict)
    # By endpoint and day, with days as if no time had passed: see `day`.
    paid: Counter[tuple[str, int, date]] = field(default_factory=Counter)
    # The figures and observations of every finished run.
    finished: dict[int, Recount] = field(default_factory=dict)
    keys: dict[int, Key] = field(default_factory=dict)
    # Rows that must never change again.
    frozen: dict[tuple[str, int], str] = field(default_factory=dict)
    days_passed: int = 0

    def holding(self, lease: Lease) -> Holding | None:
        """The holding of a lease unless it was revoked; it may have expired."""
        holding = self.holders.get(lease.run_id)
        return holding if holding and holding.lease == lease else None

    def live_holding(self, lease: Lease) -> Holding | None:
        holding = self.holding(lease)
        return holding if holding and holding.is_alive else None

    def revoke(self, endpoint_id: int) -> None:
        """Revoke the leases of this endpoint."""
        for run, holding in list(self.holders.items()):
            if holding.endpoint_id == endpoint_id:
                del self.holders[run]

    def expired(self) -> list[int]:
        return [run for run, holding in self.holders.items() if not holding.is_alive]

    def pass_time(self, span: timedelta) -> None:
        self.days_passed += span.days
        for holding in self.holders.values():
            holding.time_left -= span

    def day(self, stored: date) -> date:
        """The original day of a stored day: tests move rows back instead of the clock forward."""
        return stored + timedelta(days=self.days_passed)

    def pay(self, endpoint_id: int, day: date, cost: Cost) -> None:
        for kind, amount in zip(("requests", "tokens"), cost, strict=True):
            self.paid[kind, endpoint_id, self.day(day)] += amount

    def run_attempts(self, run_id: int) -> list[Attempt]:
        return [self.attempts[trial] for trial in sorted(self.attempts) if trial[0] == run_id]


def recount(attempts: list[Attempt], wire: str) -> Recount:
    """The trials and failures by metric, and the packed observations, of attempts."""
    parser = derive_capabilities(attempts, wire)["parser"].value
    parser = parser if isinstance(parser, str) else None
    verdicts = settle_verdicts(attempts, parser)
    trials = Counter(verdict.metric.value for verdict in verdicts)
    bad = Counter(verdict.metric.value for verdict in verdicts if not verdict.good)
    packed = (pack_verdicts(settle_verdicts([attempt], parser)) for attempt in attempts)
    return (
        {metric: (number, bad[metric]) for metric, number in trials.items()},
        Counter(verdicts for packed_rows in packed for verdicts in packed_rows),
    )
