"""Other formats of a report: JUnit for CI, Markdown for a pull request, one line for people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from xml.etree import ElementTree

from cli.terminal import safe_text
from health.capability import Capability
from health.rates import DIRECTIONS, Rate
from health.run_report import Report
from probes.outcomes import Attempt, Outcome
from probes.suite import PROBES, SUITE_VERSION

# The only control characters allowed in XML 1.0.
_ALLOWED = ("\t", "\n", "\r")
# A bar in code inside a table of GitHub's Markdown.
BAR = r"\|"


def as_junit(report: Report) -> str:
    """One test case per attempt; void ones are skipped."""
    root = ElementTree.Element("testsuites")
    outcomes = [attempt.outcome for attempt in report.attempts]
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        name=f"{SUITE_VERSION} {_clean_xml(report.key.model)}",
        tests=str(len(outcomes)),
        failures=str(outcomes.count(Outcome.FAIL)),
        skipped=str(outcomes.count(Outcome.VOID)),
        timestamp=report.verified_at.isoformat(),
    )
    for attempt in report.attempts:
        _test_case(suite, attempt)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def as_markdown(report: Report) -> str:
    """A report for a comment: capabilities, metrics and failures."""
    return "\n".join(_markdown_lines(report))


def summary_line(report: Report) -> str:
    return f"{report.key.model}: {_counts(report)}."


def _counts(report: Report) -> str:
    outcomes = [attempt.outcome for attempt in report.attempts]
    return ", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in Outcome)


def _test_case(suite: ElementTree.Element, attempt: Attempt) -> None:
    seconds = f"{(attempt.latency_ms or 0) / 1000:.3f}"
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=f"{SUITE_VERSION}.{attempt.probe}",
        name=f"{PROBES[attempt.probe].question} ({attempt.trial})",
        time=seconds,
    )
    if attempt.outcome is Outcome.PASS:
        return
    tag = "failure" if attempt.outcome is Outcome.FAIL else "skipped"
    first = attempt.findings[0].message if attempt.findings else ""
    element = ElementTree.SubElement(case, tag, message=_clean_xml(first))
    element.text = _clean_xml(
        "\n".join(f"{f.kind}: {f.message} {f.path}" for f in attempt.findings)
    )


def _clean_xml(text: str) -> str:
    return "".join(
        char if char in _ALLOWED or (char >= " " and not "\ud800" <= char <= "\udfff") else "\ufffd"
        for char in text
        if char not in "\ufffe\uffff"
    )


def _value_cell(capability: Capability) -> str:
    """The value; if the trials contradict each other, how often each was seen."""
    if not capability.unsettled:
        return _cell(capability.value)
    counts = ", ".join(f"{name}: {count}" for name, count in capability.counts.items())
    settled = [capability.value] if isinstance(capability.value, list | dict) else []
    return " ".join([*map(_cell, settled), _cell("unsettled"), _cell(counts)])


def _markdown_lines(report: Report) -> Iterator[str]:
    key = report.key
    yield f"### {_cell(key.model)} at {_cell(key.endpoint)}"
    yield ""
    yield f"{_counts(report)}. Suite {SUITE_VERSION}, {report.verified_at:%Y-%m-%d %H:%M} UTC."
    yield ""
    view = report.client_view
    because = f", because {_cell('; '.join(map(str, view.reasons)))}" if view.reasons else ""
    yield f"Works with an ordinary SDK: {view.works_with_sdk}{because}."
    yield ""
    yield "| capability | value | trials | agree |"
    yield "|---|---|---|---|"
    for name, capability in report.capabilities.items():
        yield f"| {name} | {_value_cell(capability)} | {capability.trials} | {capability.agree} |"
    yield ""
    yield "| metric | rate | trials | 95 % interval |"
    yield "|---|---|---|---|"
    for metric, rate in report.metrics.items():
        yield f"| {metric} ({DIRECTIONS[metric]} is good) | {_rate_cells(rate)} |"
    yield from _failure_rows(report)


def _failure_rows(report: Report) -> Iterator[str]:
    failed = [attempt for attempt in report.attempts if attempt.outcome is not Outcome.PASS]
    if not failed:
        return
    yield ""
    yield "| attempt | outcome | why |"
    yield "|---|---|---|"
    for attempt in failed:
        why = "; ".join(_cell(finding.message) for finding in attempt.findings[:3])
        yield f"| {attempt.probe} {attempt.trial} | {attempt.outcome} | {why} |"


def _rate_cells(rate: Rate) -> str:
    if rate.value is None or rate.low is None or rate.high is None:
        return "no data | 0 | "
    return f"{rate.value:.1%} | {rate.count} of {rate.trials} | {rate.low:.1%} to {rate.high:.1%}"


def _cell(value: object) -> str:
    """The value as inline code: it cannot break the table, load an image or mention a user."""
    text = value if isinstance(value, str) else json.dumps(value)
    line = " ".join(safe_text(text).replace("`", "'").split())
    return f"`{line.replace('|', BAR)}`" if line else ""
