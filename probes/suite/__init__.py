from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from probes.errors import TargetError
from probes.suite.base import Drawn, Judged, Probe
from probes.suite.format import FORMAT

__all__ = ["PROBES", "SUITES", "SUITE_VERSION", "Drawn", "Judged", "Probe", "Trial", "plan"]

SUITE_VERSION = "tool-probe-v1"

PROBES: Mapping[str, Probe] = MappingProxyType({"format": FORMAT})

# Per suite: which probe, how many times.
SUITES: Mapping[str, tuple[tuple[str, int], ...]] = MappingProxyType(
    {
        "light": (("format", 5),),
        "full": (("format", 10),),
    }
)


@dataclass(frozen=True, slots=True)
class Trial:
    """One try of one probe in a run; `trial` counts from 1."""

    probe: str
    trial: int


def plan(suite: str) -> tuple[Trial, ...]:
    """Every trial of a suite, in the order it is asked."""
    if suite not in SUITES:
        raise TargetError(f"There is no suite {suite!r}; there are {', '.join(SUITES)}.")
    return tuple(
        Trial(probe, trial) for probe, repeats in SUITES[suite] for trial in range(1, repeats + 1)
    )
