"""The watch of an endpoint in short: its baseline, open incidents and active modes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from health.detector import BaselineState
from health.modes import EFFECTS, Mode
from health.severity import Severity
from health.translation import say
from probes.outcomes import Metric


@dataclass(frozen=True, slots=True)
class WatchSummary:
    """Baseline, open incidents and active modes of one endpoint."""

    known: BaselineState = BaselineState.NONE
    below_gate: tuple[Metric, ...] = ()
    # Open incidents, worst first.
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
        """The active modes, each with its effect."""
        return [(mode, say(EFFECTS[mode])) for mode in self.modes]


UNKNOWN = WatchSummary()


# Most endpoints of a fleet share a few summaries.
@lru_cache(maxsize=1024)
def parse_watch_summary(
    known: str | None, below_gate: str | None, incidents: str | None, modes: str | None
) -> WatchSummary:
    """A summary from columns with comma-separated lists; incidents are metric:severity."""
    open_incidents = [each.rpartition(":") for each in incidents.split(",")] if incidents else []
    active = modes.split(",") if modes else []
    return WatchSummary(
        known=BaselineState(known) if known else BaselineState.NONE,
        below_gate=tuple(map(Metric, below_gate.split(","))) if below_gate else (),
        incidents=tuple(
            (Metric(metric), Severity(int(level))) for metric, _, level in open_incidents
        ),
        modes=tuple(mode for mode in Mode if mode in active),
    )
