"""What the watch says about an endpoint as it is now: what is known, open and switched on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from health.detector import BaselineState
from health.modes import EFFECTS, Mode
from health.severity import Severity
from health.translation import say
from probes.outcomes import Metric


@dataclass(frozen=True, slots=True)
class Condition:
    """One endpoint: what is known, what is open, what is switched on."""

    known: BaselineState = BaselineState.NONE
    below_gate: tuple[Metric, ...] = ()
    # The open incidents, the worst first.
    incidents: tuple[tuple[Metric, Severity], ...] = ()
    modes: tuple[Mode, ...] = ()

    @property
    def severities(self) -> tuple[Severity, ...]:
        return tuple(severity for _, severity in self.incidents)

    @property
    def worst(self) -> Severity | None:
        return self.incidents[0][1] if self.incidents else None

    @property
    def effects(self) -> list[tuple[Mode, str]]:
        """The modes that are on, each with what it does."""
        return [(mode, say(EFFECTS[mode])) for mode in self.modes]


UNKNOWN = Condition()


# Of a thousand endpoints most are in the same few.
@lru_cache(maxsize=1024)
def condition(
    known: str | None, below_gate: str | None, incidents: str | None, modes: str | None
) -> Condition:
    """A condition as it was read, lists parted by commas; incidents are metric:severity."""
    opened = [each.rpartition(":") for each in incidents.split(",")] if incidents else []
    switched = modes.split(",") if modes else []
    return Condition(
        known=BaselineState(known) if known else BaselineState.NONE,
        below_gate=tuple(map(Metric, below_gate.split(","))) if below_gate else (),
        incidents=tuple((Metric(metric), Severity(int(level))) for metric, _, level in opened),
        modes=tuple(mode for mode in Mode if mode in switched),
    )
