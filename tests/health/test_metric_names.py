"""Names of metrics and headlines of degradations."""

from __future__ import annotations

import pytest

from health.metric_names import NAMES, degradation_headline
from probes.outcomes import Metric


@pytest.mark.parametrize(
    ("metric", "normal", "now", "expected"),
    [
        (Metric.PARSE_SUCCESS, 0.98, 0.5, "Parse success fell from 98% to 50%"),
        (Metric.CLOSURE_ERROR, 1.0, 0.0, "Closure errors rose from 0% to 100%"),
        (Metric.SCHEMA_FAILURE, 0.95, 0.7, "Schema failures rose from 5% to 30%"),
        (Metric.REASONING_REPLAY_ERROR, None, 0.0, "Reasoning replay errors rose to 100%"),
        (Metric.REPAIR_SUCCESS, None, 0.25, "Repair success fell to 25%"),
    ],
    ids=str,
)
def test_a_headline_follows_the_direction_of_its_metric(
    metric: Metric, normal: float | None, now: float, expected: str
) -> None:
    """Success rates fall, failure rates rise; without a baseline there is no value before."""
    assert degradation_headline(metric, normal, now) == expected


@pytest.mark.parametrize("metric", Metric, ids=str)
@pytest.mark.parametrize(
    ("normal", "now"), [(0.83, 0.86), (0.5, 0.5), (0.992, 0.988), (0.9912, 0.9911)]
)
def test_a_headline_never_calls_a_fall_a_rise(metric: Metric, normal: float, now: float) -> None:
    """Neither between figures that moved the other way, nor between figures that read the same."""
    words = degradation_headline(metric, normal, now).replace("%", "").replace(",", "").split()

    shown = [float(word) for word in words if word[0].isdigit()]
    if "rose" in words:
        assert shown[0] < shown[1]
    elif "fell" in words:
        assert shown[0] > shown[1]
    else:
        assert "baseline" in words


def test_every_metric_has_a_name_of_its_own() -> None:
    """No two metrics share a name."""
    assert set(NAMES) == set(Metric)
    assert len(set(NAMES.values())) == len(Metric)
