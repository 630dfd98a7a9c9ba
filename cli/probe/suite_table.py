"""The suite as Markdown, for docs/probes.md. `python -m cli.probe.suite_table` prints it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from cli.selfcheck.expected_failures import CASES
from probes.suite import PROBES, SUITES, Probe
from probes.suite.sampling import estimate_price, first_trials


def probe_table() -> str:
    """An overview, then one section per probe, in the order of the suite."""
    return "\n".join(
        [*_overview_rows(), *(line for probe in PROBES.values() for line in _probe_section(probe))]
    )


def _overview_rows() -> Iterator[str]:
    light, full = dict(SUITES["light"]), dict(SUITES["full"])
    yield "| probe | requests a try, at most | tries, light | tries, full |"
    yield "|---|---|---|---|"
    for name, probe in PROBES.items():
        anchor = f"[`{name}`](#{name})"
        yield f"| {anchor} | {probe.requests} | {light.get(name, 0)} | {full.get(name, 0)} |"
    totals = [estimate_price(first_trials(suite)).requests for suite in ("light", "full")]
    yield f"| requests in all, at most | | {totals[0]} | {totals[1]} |"


def _probe_section(probe: Probe) -> Iterator[str]:
    yield ""
    yield f"### `{probe.name}`"
    yield ""
    yield probe.question
    yield ""
    yield f"- Settles: {probe.settles}"
    yield f"- Passes: {probe.passes}"
    yield f"- Fails: {probe.fails}"
    yield f"- Must be failed by: {_fault_list(probe.name)}."


def _fault_list(name: str) -> str:
    """The faults of the self-check with their expected findings."""
    cases = dict.fromkeys((case.faults, case.finding) for case in CASES if case.probe == name)
    return ", ".join(f"`{faults}` ({finding})" for faults, finding in cases)


if __name__ == "__main__":
    sys.stdout.write(probe_table() + "\n")
