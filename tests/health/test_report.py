from __future__ import annotations

import json
from typing import Any

import pytest

from health.run_report import Report, compute_rates, usage_json
from probes.messages import Usage
from probes.outcomes import Evidence, FindingKind, Metric, Outcome, Verdict
from probes.suite import SUITE_VERSION
from probes.target import ProfileKey
from tests.health.builders import AT, attempt

KEY = ProfileKey("openai", "m-1", "https://e.test/v1", "abc")
SENT = {"url": "http://127.0.0.1/v1"}
# The third was never sent: the endpoint had been given up by then.
EVIDENCE = Evidence(
    (
        {"label": "asked", "request": SENT},
        {"label": "with the result", "request": SENT},
        {"label": "once more", "request": {}},
    ),
    (),
)
GOOD = Verdict(Metric.PARSE_SUCCESS, good=True)
BAD = Verdict(Metric.PARSE_SUCCESS, good=False, parser="hermes")
ATTEMPTS = [
    attempt(
        "format",
        verdicts=[GOOD],
        evidence=EVIDENCE,
        usage=Usage(10, 5, 2),
        latency_ms=100,
        formats=["openai"],
    ),
    attempt(
        "format",
        2,
        outcome=Outcome.FAIL,
        findings=[FindingKind.LEAKED_CALL],
        verdicts=[BAD],
        latency_ms=300,
        formats=["hermes"],
    ),
]


def report_json(**over: Any) -> dict[str, Any]:
    """The report as another program reads it."""
    fields = {"attempts": ATTEMPTS, "fingerprint": {"engine": "1"}, **over}
    text = json.dumps(Report(KEY, AT, **fields).as_json(), allow_nan=False)
    document: dict[str, Any] = json.loads(text)
    return document


def test_the_report_has_the_promised_shape() -> None:
    """Key, fingerprint, version, date, capabilities, metrics, results and usage, by their names."""
    report = report_json()

    assert report["key"] == {
        "provider": "openai",
        "model": "m-1",
        "endpoint": "https://e.test/v1",
        "chat_template_hash": "abc",
    }
    assert report["fingerprint"] == {"engine": "1"}
    assert report["probe_version"] == SUITE_VERSION
    assert report["verified_at"] == "2026-11-16T12:00:00+00:00"
    assert {
        "schema_level",
        "tool_call_format",
        "parser",
        "supports_parallel_tool_use",
        "reasoning_replay",
        "supports_streaming_tool_use",
        "error_repair",
        "tool_choice",
    } <= set(report["capabilities"])
    assert set(report["confidence"]) == set(report["capabilities"])
    assert set(report["metrics"]) == {str(metric) for metric in Metric}


def test_capabilities_and_their_confidence_are_separate() -> None:
    """Programs read the value; the confidence has trials and an interval."""
    report = report_json()

    assert report["capabilities"]["tool_call_format"] == "unsettled"
    confidence = report["confidence"]["tool_call_format"]
    assert (confidence["trials"], confidence["unsettled"]) == (2, True)
    assert confidence["counts"] == {"openai": 1, "hermes": 1}
    assert confidence["evidence"] == ["format/1", "format/2"]


def test_a_metric_has_counts_and_an_interval() -> None:
    """One of two trials failed."""
    rate = report_json()["metrics"]["parse_success"]

    assert (rate["trials"], rate["failures"], rate["rate"]) == (2, 1, 0.5)
    assert rate["low"] == pytest.approx(0.0938, abs=1e-4)
    assert rate["high"] == pytest.approx(0.9062, abs=1e-4)


def test_a_metric_without_trials_is_no_data() -> None:
    """An empty denominator is not zero."""
    assert report_json()["metrics"]["repair_success"] == {
        "trials": 0,
        "failures": 0,
        "rate": None,
        "low": None,
        "high": None,
    }


def test_a_metric_that_is_good_when_low_is_shown_as_its_failures() -> None:
    """Two failures of three trials are a rate of two thirds."""
    verdicts = [Verdict(Metric.SCHEMA_FAILURE, good) for good in (True, False, False)]

    assert compute_rates(verdicts)[Metric.SCHEMA_FAILURE].value == pytest.approx(2 / 3)


def test_each_result_leads_to_its_findings_and_evidence() -> None:
    """Every result carries its findings and its exchanges."""
    first, second = report_json()["results"]

    assert (first["probe"], first["trial"], first["outcome"]) == ("format", 1, "pass")
    assert [item["label"] for item in first["evidence"]["exchanges"]] == [
        "asked",
        "with the result",
        "once more",
    ]
    assert second["outcome"] == "fail"
    assert second["findings"] == [{"kind": "leaked_call", "message": "So it was.", "path": ""}]


def test_usage_is_added_up_and_not_made_up() -> None:
    """Tokens that no answer reported are null, not zero."""
    usage = report_json()["usage"]

    assert usage == {
        "attempts": 2,
        "requests": 2,
        "retried": {},
        "input_tokens": 10,
        "output_tokens": 5,
        "reasoning_tokens": 2,
        "latency_ms_median": 300,
        "latency_ms_max": 300,
    }
    assert usage_json([])["input_tokens"] is None
    assert usage_json([])["latency_ms_median"] is None


def test_calls_of_an_endpoint_that_always_calls_in_text_count_as_parsed() -> None:
    """Its parser is known, so its calls parse; the leak stays counted."""
    leaking = [
        attempt("format", n, verdicts=[BAD, Verdict(Metric.LEAK, good=False)], formats=["hermes"])
        for n in (1, 2)
    ]
    report = report_json(attempts=leaking)

    assert report["capabilities"]["parser"] == "hermes"
    assert report["metrics"]["parse_success"]["rate"] == 1
    assert report["metrics"]["leak"]["rate"] == 1


def test_occasional_leaks_are_failed_parses() -> None:
    """If calls also come over the wire, a leak is a failed parse."""
    assert report_json()["metrics"]["parse_success"]["failures"] == 1
