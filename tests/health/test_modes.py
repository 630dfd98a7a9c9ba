"""The modes that each degradation turns on."""

from __future__ import annotations

import pytest

from health.modes import (
    BUDGETED,
    CONSERVATIVE,
    EFFECTS,
    WATCHED,
    Mode,
    below_gate_modes,
    fallback_modes,
)
from health.severity import GATES, Severity
from probes.outcomes import Metric

STRONG, READ, NONE = Mode.STRONG_VALIDATION, Mode.READ_ONLY_TOOLS, Mode.NO_TOOLS


@pytest.mark.parametrize("metric", WATCHED, ids=lambda metric: metric.value)
def test_a_more_severe_alarm_switches_nothing_off(metric: Metric) -> None:
    """Each severity adds modes, and the mildest turns at least one on."""
    mild, bad, worst = (fallback_modes(metric, level) for level in Severity)

    assert mild
    assert mild <= bad <= worst


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (Metric.PARSE_SUCCESS, [{STRONG, Mode.NO_STREAMING_TOOLS}, {READ}, {NONE}]),
        (Metric.SCHEMA_FAILURE, [{Mode.STRICT_SCHEMA, STRONG}, {READ}, {NONE}]),
        (Metric.CLOSURE_ERROR, [{Mode.NO_PARALLEL}, {READ}, {NONE}]),
        (Metric.REASONING_REPLAY_ERROR, [{Mode.VERBATIM_HISTORY}, {NONE}, set()]),
        (Metric.REPAIR_SUCCESS, [{STRONG}, set(), set()]),
        (Metric.PARALLEL_DOWNGRADE, [{Mode.NO_PARALLEL}, set(), set()]),
        (Metric.UNSAFE_BLOCKED, [{STRONG}, {READ}, {NONE}]),
        (Metric.STREAM_DISAGREEMENT, [{Mode.NO_STREAMING_TOOLS}, set(), set()]),
        (Metric.RESULT_USE, [{Mode.VERBATIM_HISTORY}, {READ}, {NONE}]),
        (Metric.VALUE_FIDELITY, [{STRONG}, {READ}, {NONE}]),
    ],
    ids=lambda value: value.value if isinstance(value, Metric) else "",
)
def test_every_metric_has_its_ladder(metric: Metric, expected: list[set[Mode]]) -> None:
    """The table of docs/detection.md, written out: the modes that each severity adds."""
    added, before = [], frozenset[Mode]()
    for level in Severity:
        added.append(set(fallback_modes(metric, level) - before))
        before = fallback_modes(metric, level)

    assert added == expected


def test_nine_metrics_and_streams_are_watched() -> None:
    """Availability, leaks and reasoning-only turns are not. Streams have no part of the budget."""
    unwatched = {Metric.AVAILABILITY, Metric.LEAK, Metric.REASONING_ONLY}

    assert set(WATCHED) == set(Metric) - unwatched
    assert len(WATCHED) == len(set(WATCHED)) == 10
    assert set(WATCHED) - set(BUDGETED) == {Metric.STREAM_DISAGREEMENT}


@pytest.mark.parametrize("metric", GATES, ids=lambda metric: metric.value)
def test_a_capability_that_never_was_good_enough_is_off(metric: Metric) -> None:
    """Writing tools at least; all tools where calls do not parse, close or lead anywhere."""
    on = below_gate_modes(metric)

    reads = metric in (Metric.SCHEMA_FAILURE, Metric.VALUE_FIDELITY)
    assert (READ in on) == reads
    assert (NONE in on) == (not reads)


def test_the_conservative_default_lets_tools_read_and_nothing_more() -> None:
    """Missing data does not turn off all tools."""
    assert READ in CONSERVATIVE
    assert NONE not in CONSERVATIVE


def test_every_mode_says_what_it_does() -> None:
    """Every mode has a description; modes are ordered by strength."""
    assert set(EFFECTS) == set(Mode)
    assert list(Mode)[-2:] == [READ, NONE]
