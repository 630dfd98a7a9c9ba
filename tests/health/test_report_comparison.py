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


def changed(name: str, before: object, now: object) -> list[str]:
    """What is told where one capability changes and nothing else does."""
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
def test_what_got_worse_is_told_in_one_sentence(name: str, before: object, now: object) -> None:
    """The field, what it was and what it is."""
    assert changed(name, before, now) == [f"{name} was {before} and is {now}."]


@pytest.mark.parametrize(("name", "now", "before"), WORSE)
def test_what_got_better_is_not_told(name: str, now: object, before: object) -> None:
    """A gate that fails on progress is switched off."""
    assert changed(name, before, now) == []


@pytest.mark.parametrize("name", BEST)
@pytest.mark.parametrize("unknown", [None, "unknown"])
def test_what_became_unknown_is_not_called_worse(name: str, unknown: object) -> None:
    """A sample that does not carry a field proves nothing, either way."""
    assert changed(name, BEST[name], unknown) == []
    assert changed(name, unknown, BEST[name]) == []


def test_choices_that_were_lost_are_named() -> None:
    """A value that came new is no loss."""
    assert changed("tool_choice", ["auto", "required", "named"], ["auto", "none"]) == [
        "tool_choice no longer takes required, named."
    ]
    assert changed("tool_choice", ["auto"], ["auto", "none"]) == []


def test_a_profile_is_not_worse_than_itself() -> None:
    """The same report twice is silence."""
    report = measured(Metric.PARSE_SUCCESS, 40, 10)

    assert find_regressions(report, report) == []


def measured(metric: Metric, good: int, bad: int) -> dict[str, Any]:
    key = ProfileKey("openai", "m", "https://e.test")
    return dict(Report(key, AT, trials(metric, good, bad)).as_json())


@pytest.mark.parametrize(
    ("metric", "before", "now", "told"),
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
def test_a_rate_is_worse_where_its_interval_lies_apart_on_the_bad_side(
    metric: Metric, before: tuple[int, int], now: tuple[int, int], told: list[str]
) -> None:
    """Small samples prove little, no trials prove nothing, and availability is the line's."""
    assert find_regressions(measured(metric, *before), measured(metric, *now)) == told
