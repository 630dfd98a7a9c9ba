from __future__ import annotations

from typing import Any

import pytest

from health.report_comparison import find_regressions
from health.run_report import Report
from probes.outcomes import Metric
from probes.target import ProfileKey
from tests.health.builders import AT, trials

BEST: dict[str, Any] = {
    "schema_level": "strict_json_schema",
    "tool_call_format": "openai",
    "supports_parallel_tool_use": True,
    "reasoning_replay": "tolerated",
    "supports_streaming_tool_use": True,
    "error_repair": "reliable",
    "tool_choice": ["auto", "none", "required", "named"],
}


def regressions_of(name: str, before: object, now: object) -> list[str]:
    """The regressions if only one capability changes."""
    earlier, later = {**BEST, name: before}, {**BEST, name: now}
    return find_regressions(
        {"capabilities": earlier, "metrics": {}}, {"capabilities": later, "metrics": {}}
    )


WORSE: list[tuple[str, object, object]] = [
    ("schema_level", "strict_json_schema", "simple_object"),
    ("schema_level", "simple_object", "string_only"),
    ("schema_level", "string_only", "none"),
    ("tool_call_format", "openai", "json_text"),
    ("tool_call_format", "openai", "none"),
    ("tool_call_format", "xml", "none"),
    ("supports_parallel_tool_use", True, False),
    ("supports_streaming_tool_use", True, False),
    ("reasoning_replay", "none", "required_same_turn"),
    ("reasoning_replay", "tolerated", "required_all_turns"),
    ("error_repair", "reliable", "limited"),
    ("error_repair", "limited", "none"),
]


@pytest.mark.parametrize(("name", "before", "now"), WORSE)
def test_a_regression_is_one_sentence(name: str, before: object, now: object) -> None:
    """The field, its value before and its value now."""
    assert regressions_of(name, before, now) == [f"{name} was {before} and is {now}."]


@pytest.mark.parametrize(("name", "now", "before"), WORSE)
def test_an_improvement_is_no_regression(name: str, now: object, before: object) -> None:
    """A better value yields no sentence."""
    assert regressions_of(name, before, now) == []


@pytest.mark.parametrize("name", BEST)
@pytest.mark.parametrize("unknown", [None, "unknown"])
def test_a_capability_that_became_unknown_is_no_regression(name: str, unknown: object) -> None:
    """A sample without evidence proves nothing, either way."""
    assert regressions_of(name, BEST[name], unknown) == []
    assert regressions_of(name, unknown, BEST[name]) == []


def test_choices_that_were_lost_are_named() -> None:
    """A new value is no loss."""
    assert regressions_of("tool_choice", ["auto", "required", "named"], ["auto", "none"]) == [
        "tool_choice no longer takes required, named."
    ]
    assert regressions_of("tool_choice", ["auto"], ["auto", "none"]) == []


def test_a_profile_is_not_worse_than_itself() -> None:
    """Two equal reports have no regressions."""
    report = report_with_rate(Metric.PARSE_SUCCESS, 40, 10)

    assert find_regressions(report, report) == []


def report_with_rate(metric: Metric, good: int, bad: int) -> dict[str, Any]:
    key = ProfileKey("openai", "m", "https://e.test")
    return dict(Report(key, AT, trials(metric, good, bad)).as_json())


@pytest.mark.parametrize(
    ("metric", "before", "now", "expected"),
    [
        (Metric.PARSE_SUCCESS, (50, 0), (25, 25), ["parse_success was 1.000 and is 0.500."]),
        (Metric.PARSE_SUCCESS, (25, 25), (50, 0), []),
        (Metric.PARSE_SUCCESS, (5, 0), (4, 1), []),
        (Metric.SCHEMA_FAILURE, (50, 0), (25, 25), ["schema_failure was 0.000 and is 0.500."]),
        (Metric.SCHEMA_FAILURE, (25, 25), (50, 0), []),
        (Metric.SCHEMA_FAILURE, (5, 0), (4, 1), []),
        (Metric.PARALLEL_DOWNGRADE, (50, 0), (0, 0), []),
        (Metric.PARALLEL_DOWNGRADE, (0, 0), (0, 50), []),
        (Metric.AVAILABILITY, (50, 0), (0, 50), []),
    ],
)
def test_a_rate_is_worse_if_its_interval_no_longer_overlaps(
    metric: Metric, before: tuple[int, int], now: tuple[int, int], expected: list[str]
) -> None:
    """Small samples and missing trials prove nothing, and availability is not compared."""
    assert (
        find_regressions(report_with_rate(metric, *before), report_with_rate(metric, *now))
        == expected
    )
