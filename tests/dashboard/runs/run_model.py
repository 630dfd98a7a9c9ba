"""What a test of the run machine knows by itself, without asking the tables."""

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
    """Who works on a run, and for how long yet."""

    lease: Lease
    endpoint_id: int
    left: timedelta = LEASE
    is_running: bool = False
    asks_engine: bool = False

    @property
    def lives(self) -> bool:
        return self.left > timedelta()


@dataclass
class Key:
    """The present profile key of an endpoint, as far as it is changed here."""

    epoch: int
    model: str
    template: str = ""

    def follow(self, model: str, template: str) -> None:
        self.epoch, self.model, self.template = self.epoch + 1, model, template


@dataclass
class Model:
    """The state that the tables must agree with."""

    # By run; whoever is not in here has lost the run.
    holders: dict[int, Holding] = field(default_factory=dict)
    # Every attempt that was taken, as given, and its row as it was first stored.
    given: dict[Trial, Attempt] = field(default_factory=dict)
    stored: dict[Trial, str] = field(default_factory=dict)
    # By endpoint and day, the days as if none had passed: see `day`.
    paid: Counter[tuple[str, int, date]] = field(default_factory=Counter)
    # The figures and observations of every run that came to its end.
    finished: dict[int, Recount] = field(default_factory=dict)
    keys: dict[int, Key] = field(default_factory=dict)
    # Rows that must never change again.
    frozen: dict[tuple[str, int], str] = field(default_factory=dict)
    days_passed: int = 0

    def holding(self, lease: Lease) -> Holding | None:
        """The holding of a lease, if it was not taken away; it may have expired all the same."""
        found = self.holders.get(lease.run_id)
        return found if found and found.lease == lease else None

    def living(self, lease: Lease) -> Holding | None:
        found = self.holding(lease)
        return found if found and found.lives else None

    def take_away(self, endpoint_id: int) -> None:
        """Whoever works on a run of this endpoint has lost it."""
        for run, holding in list(self.holders.items()):
            if holding.endpoint_id == endpoint_id:
                del self.holders[run]

    def expired(self) -> list[int]:
        return [run for run, holding in self.holders.items() if not holding.lives]

    def pass_time(self, span: timedelta) -> None:
        self.days_passed += span.days
        for holding in self.holders.values():
            holding.left -= span

    def day(self, stored: date) -> date:
        """A day of the tables, where the past is moved back instead of the clock forward."""
        return stored + timedelta(days=self.days_passed)

    def pay(self, endpoint_id: int, day: date, cost: Cost) -> None:
        for kind, amount in zip(("requests", "tokens"), cost, strict=True):
            self.paid[kind, endpoint_id, self.day(day)] += amount

    def attempts_of(self, run_id: int) -> list[Attempt]:
        return [self.given[trial] for trial in sorted(self.given) if trial[0] == run_id]


def recount(attempts: list[Attempt], wire: str) -> Recount:
    """Trials and failures by metric, and packed observations, that attempts lead to."""
    parser = derive_capabilities(attempts, wire)["parser"].value
    parser = parser if isinstance(parser, str) else None
    verdicts = settle_verdicts(attempts, parser)
    trials = Counter(verdict.metric.value for verdict in verdicts)
    bad = Counter(verdict.metric.value for verdict in verdicts if not verdict.good)
    packed = (pack_verdicts(settle_verdicts([attempt], parser)) for attempt in attempts)
    return (
        {metric: (number, bad[metric]) for metric, number in trials.items()},
        Counter(verdicts for each in packed for verdicts in each),
    )
