from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from probes.errors import TargetError
from probes.suite.base import Answer, DrawnValues, Judgement, Probe, Question, Script
from probes.suite.chain_probe import CHAIN
from probes.suite.closure_probe import CLOSURE
from probes.suite.error_repair_probe import ERROR_REPAIR
from probes.suite.format_probe import FORMAT
from probes.suite.further_schema_probes import LONG_ARGUMENT, SCHEMA_ENUM_NESTED, SCHEMA_REF
from probes.suite.image_result_probe import IMAGE_RESULT
from probes.suite.late_system_probe import LATE_SYSTEM
from probes.suite.limits_probes import FOREIGN_IDS_PROBE, PARAMETERS, TOOL_CHOICE
from probes.suite.many_tools_probe import MANY_TOOLS
from probes.suite.no_call_probe import NO_CALL_WANTED, TAG_IN_TEXT
from probes.suite.parallel_probes import (
    PARALLEL_FIVE,
    PARALLEL_MIXED,
    PARALLEL_OFF,
    PARALLEL_SAME,
    PARALLEL_THREE,
)
from probes.suite.prompted_tools_probe import PROMPTED_TOOLS
from probes.suite.reasoning_replay_probe import REASONING_REPLAY
from probes.suite.round_trip_probe import ROUND_TRIP
from probes.suite.schema_probes import (
    HOSTILE_TEXT,
    NO_ARGUMENTS,
    SCHEMA_NESTED,
    SCHEMA_TYPES,
    SCHEMA_UNION,
)
from probes.suite.streaming_probe import STREAMING

__all__ = [
    "PROBES",
    "ROUNDS",
    "SUITES",
    "SUITE_VERSION",
    "Answer",
    "DrawnValues",
    "Judgement",
    "Probe",
    "Question",
    "Script",
    "Trial",
    "is_streamed",
    "order_trials",
    "plan_trials",
]

SUITE_VERSION = "tool-probe-v2"

# Each probe with its number of trials in the light and in the full suite.
_SUITE: tuple[tuple[Probe, int, int], ...] = (
    (FORMAT, 3, 6),
    (NO_CALL_WANTED, 0, 2),
    (TAG_IN_TEXT, 0, 2),
    (SCHEMA_TYPES, 1, 3),
    (SCHEMA_NESTED, 1, 3),
    (SCHEMA_UNION, 0, 3),
    (NO_ARGUMENTS, 0, 2),
    (HOSTILE_TEXT, 1, 4),
    (ROUND_TRIP, 1, 3),
    (PARALLEL_MIXED, 1, 3),
    (PARALLEL_SAME, 0, 3),
    (PARALLEL_OFF, 0, 2),
    (ERROR_REPAIR, 1, 5),
    (REASONING_REPLAY, 1, 2),
    (STREAMING, 1, 3),
    (CLOSURE, 0, 2),
    (TOOL_CHOICE, 0, 2),
    (PARAMETERS, 0, 1),
    (FOREIGN_IDS_PROBE, 0, 1),
    (SCHEMA_ENUM_NESTED, 0, 2),
    (SCHEMA_REF, 0, 2),
    (PARALLEL_THREE, 0, 2),
    (PARALLEL_FIVE, 0, 2),
    (MANY_TOOLS, 0, 2),
    (LONG_ARGUMENT, 0, 2),
    (CHAIN, 0, 2),
    (LATE_SYSTEM, 0, 2),
    (PROMPTED_TOOLS, 0, 2),
    (IMAGE_RESULT, 0, 2),
)
# How often a script waits for answers, where it does so more than once and nothing goes wrong.
ROUNDS: Mapping[str, int] = MappingProxyType(
    {
        CHAIN.name: 4,
        CLOSURE.name: 4,
        IMAGE_RESULT.name: 4,
        REASONING_REPLAY.name: 3,
        FOREIGN_IDS_PROBE.name: 3,
        **{
            probe.name: 2
            for probe in (
                ROUND_TRIP,
                ERROR_REPAIR,
                PROMPTED_TOOLS,
                PARALLEL_MIXED,
                PARALLEL_SAME,
                PARALLEL_THREE,
                PARALLEL_FIVE,
            )
        },
    }
)
PROBES: Mapping[str, Probe] = MappingProxyType({probe.name: probe for probe, _, _ in _SUITE})

# Per suite: (probe, number of trials).
SUITES: Mapping[str, tuple[tuple[str, int], ...]] = MappingProxyType(
    {
        "light": tuple((probe.name, light) for probe, light, _ in _SUITE if light),
        "full": tuple((probe.name, full) for probe, _, full in _SUITE),
    }
)


@dataclass(frozen=True, slots=True)
class Trial:
    """One try of one probe in a run; `trial` counts from 1."""

    probe: str
    trial: int


def plan_trials(suite: str) -> tuple[Trial, ...]:
    """Every trial of a suite, in the order of its table."""
    if suite not in SUITES:
        raise TargetError(f"There is no suite {suite!r}; there are {', '.join(SUITES)}.")
    return tuple(
        Trial(probe, trial) for probe, repeats in SUITES[suite] for trial in range(1, repeats + 1)
    )


def order_trials(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """The trials in the order in which they start: the longest scripts first.

    A long script that starts last keeps the whole run waiting. Each trial draws its own values, so
    the order changes nothing else.
    """
    return tuple(sorted(trials, key=lambda trial: -ROUNDS.get(trial.probe, 1)))


def is_streamed(trial: Trial, seed: str | int) -> bool:
    """Whether the questions of a trial are asked for streamed answers: every second trial.

    Neighbours in the suite alternate, and so do the trials of a probe; the seed decides which
    half streams, so that a probe with one trial per run is asked both ways in the long run.
    """
    names = list(PROBES)
    position = names.index(trial.probe) if trial.probe in PROBES else 0
    return (position + trial.trial + zlib.crc32(str(seed).encode())) % 2 == 1
