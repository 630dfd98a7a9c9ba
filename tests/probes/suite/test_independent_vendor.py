"""The whole suite against a vendor that shares no code with it or with the simulated ones."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from health.run_report import Report
from probes.measurement import MeasurementPlan, measure_endpoint
from probes.outcomes import Attempt
from probes.target import Provider, Target
from tests.probes.suite import mini_vendor

ROOT = Path(__file__).resolve().parents[3]
HEALTHY: Mapping[str, Any] = {
    "schema_level": "strict_json_schema",
    "tool_call_format": "openai",
    "parser": None,
    "supports_parallel_tool_use": True,
    "reasoning_replay": "none",
    "supports_streaming_tool_use": True,
    "error_repair": "reliable",
    "tool_choice": ["auto", "none", "required", "named"],
    "parallel_switch": "obeyed",
    "accepts": {"strict": True, "developer": True, "unknown_parameter": False},
    "trimmed_history": "taken",
    "system_position": "anywhere",
    "prompted_tools": "hermes",
    "result_role": "tool",
    "image_result": "refused",
    "violations": {
        "missing": "closure_missing",
        "orphan": "closure_orphan",
        "duplicate": "closure_orphan",
    },
}


@cache
def probe_vendor(failing: str = "") -> dict[str, Any]:
    """The report of a full suite."""

    async def attempts(target: Target) -> list[Attempt]:
        return [
            attempt
            async for attempt in measure_endpoint(target, MeasurementPlan("full"), seed="mini")
        ]

    with mini_vendor.run_vendor(failing) as url:
        target = Target(Provider.OPENAI, url, "mini", max_concurrency=8)
        collected = asyncio.run(attempts(target))
    report: dict[str, Any] = Report(target.profile_key(), datetime.now(UTC), collected).as_json()
    return report


def failed(report: Mapping[str, Any]) -> set[str]:
    return {result["probe"] for result in report["results"] if result["outcome"] != "pass"}


def rate(report: Mapping[str, Any], metric: str) -> float | None:
    value: float | None = report["metrics"][metric]["rate"]
    return value


def test_a_healthy_vendor_passes_every_probe() -> None:
    """The suite does not depend on the implementation of the vendor."""
    report = probe_vendor()

    assert failed(report) == set()
    assert {name: report["capabilities"][name] for name in HEALTHY} == dict(HEALTHY)
    assert set(report["capabilities"]["id_forms"].values()) == {True}
    good = ("parse_success", "repair_success")
    assert all(rate(report, metric) == 1 for metric in good)
    bad = ("schema_failure", "closure_error", "parallel_downgrade", "stream_disagreement", "leak")
    assert all(rate(report, metric) == 0 for metric in bad)


def test_calls_in_the_text_are_found_to_be_the_vendors_format() -> None:
    """The rest of the profile is the same as on the wire."""
    report = probe_vendor("leak")

    expected = {**HEALTHY, "tool_call_format": "json_text", "parser": "hermes"}
    assert {name: report["capabilities"][name] for name in HEALTHY} == expected
    assert rate(report, "leak") == 1
    assert rate(report, "parse_success") == 1


def test_prose_in_place_of_calls_is_no_tool_use_at_all() -> None:
    """Fields that need calls stay unknown."""
    report = probe_vendor("prose")

    capabilities = report["capabilities"]
    assert (capabilities["tool_call_format"], capabilities["schema_level"]) == ("none", "none")
    assert capabilities["tool_choice"] == []
    assert capabilities["supports_parallel_tool_use"] is None
    assert capabilities["error_repair"] == "unknown"
    assert rate(report, "parse_success") == 0
    assert {"no_call_wanted", "tag_in_text"}.isdisjoint(failed(report))


def test_a_second_call_that_is_dropped_costs_parallel_use_alone() -> None:
    """Unstreamed and streamed answers agree, and every received call is right."""
    report = probe_vendor("one_call")

    expected = {**HEALTHY, "supports_parallel_tool_use": False}
    assert {name: report["capabilities"][name] for name in HEALTHY} == expected
    parallel = {"parallel_mixed", "parallel_same", "parallel_three", "parallel_five"}
    assert failed(report) == parallel | {"streaming"}
    assert rate(report, "parallel_downgrade") == 1
    assert rate(report, "stream_disagreement") == 0


def imported_modules(path: Path) -> set[str]:
    """The modules that a file imports anywhere."""
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return modules


@pytest.mark.parametrize(
    ("place", "forbidden"),
    [
        ("simulators", ("probes.suite",)),
        ("probes", ("simulators",)),
        ("tests/probes/suite/mini_vendor.py", ("simulators", "probes", "tests", "health")),
    ],
)
def test_prober_and_vendors_do_not_know_each_other(place: str, forbidden: tuple[str, ...]) -> None:
    """Questions and answers meet only on the wire."""
    path = ROOT / place
    files = [path] if path.is_file() else sorted(path.rglob("*.py"))
    known = {
        f"{file.relative_to(ROOT)} imports {module}"
        for file in files
        for module in imported_modules(file)
        if any(module == name or module.startswith(f"{name}.") for name in forbidden)
    }

    assert files
    assert known == set()
