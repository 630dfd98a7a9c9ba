"""`toolgauge selfcheck`: proves that every probe can fail, against vendors with known faults."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from cli.selfcheck.expected_failures import CASES, PLAIN, Case
from cli.selfcheck.suite_faults import SELFCHECK_FAULTS
from cli.terminal import print_message, print_result
from probes import runner
from probes.messages import JSON
from probes.outcomes import Attempt, Outcome
from probes.secret import Secret
from probes.suite import PROBES, SUITE_VERSION, Probe, Trial
from probes.target import Provider, Target
from simulators.background_server import serve_in_background
from simulators.server import build_app
from simulators.vendors.vendor_registry import SPECS

GOOD, BELOW, STOPPED = 0, 1, 130
SEED = "selfcheck"
CLEAN_TRIALS = 3
_SPECS = {spec.name: spec for spec in SPECS}


@dataclass
class ProbeCheck:
    """One probe: the number of its checks, and a message per check that went wrong."""

    probe: str
    checks: int = 0
    troubles: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, JSON]:
        return {
            "probe": self.probe,
            "checks": self.checks,
            "tells": not self.troubles,
            "troubles": list(self.troubles),
        }


def run(options: argparse.Namespace) -> int:
    """Serve the vendors, check every probe, and list the probes that miss a fault."""
    try:
        with serve_in_background(build_app(latency=(0, 0), faults=SELFCHECK_FAULTS)) as url:
            results = asyncio.run(check_probes(url))
    except KeyboardInterrupt:
        print_message("toolgauge selfcheck: stopped.")
        return STOPPED
    probes: list[JSON] = [probe.as_json() for probe in results]
    print_result(json.dumps({"probe_version": SUITE_VERSION, "probes": probes}, indent=2))
    failing = [probe for probe in results if probe.troubles]
    for probe in failing:
        print_message(f"toolgauge selfcheck: {probe.probe} cannot tell: {' '.join(probe.troubles)}")
    if not failing:
        checks = sum(probe.checks for probe in results)
        print_message(f"{len(results)} probes can tell, in {checks} checks.")
    return BELOW if failing else GOOD


async def check_probes(
    url: str, cases: Sequence[Case] = CASES, probes: Mapping[str, Probe] = PROBES
) -> list[ProbeCheck]:
    """Check every probe against the vendors served at `url`, in the order of the suite."""
    results = {name: ProbeCheck(name) for name in probes}
    for name in probes.keys() - {case.probe for case in cases}:
        results[name].troubles.append("There is no fault that it must find.")
    healthy = {PLAIN: list(probes)}
    for case in cases:
        healthy.setdefault(case.vendor, []).append(case.probe)
    for vendor, names in healthy.items():
        trials = [Trial(name, n + 1) for name in dict.fromkeys(names) for n in range(CLEAN_TRIALS)]
        for attempt in await _run_attempts(f"{url}", vendor, trials, probes):
            _expect_pass(results[attempt.probe], vendor, attempt)
    for (vendor, faults), group in _group_cases(cases).items():
        trials = [
            Trial(name, n + 1)
            for name, count in _trials_per_probe(group).items()
            for n in range(count)
        ]
        attempts = await _run_attempts(f"{url}/with/{faults}", vendor, trials, probes)
        for case in group:
            _expect_fail(results[case.probe], case, [a for a in attempts if a.probe == case.probe])
    return list(results.values())


async def _run_attempts(
    url: str, vendor: str, trials: Iterable[Trial], probes: Mapping[str, Probe]
) -> list[Attempt]:
    spec = _SPECS[vendor]
    target = Target(
        Provider(spec.provider),
        f"{url}{spec.mount}{spec.prefix}",
        next(iter(spec.models)),
        Secret("sim-selfcheck"),
        max_concurrency=8,
    )
    async with aclosing(runner.run_trials(target, trials, seed=SEED, probes=probes)) as attempts:
        return [attempt async for attempt in attempts]


def _group_cases(cases: Iterable[Case]) -> dict[tuple[str, str], list[Case]]:
    """The cases by vendor and faults: one vendor serves a whole group."""
    groups: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for case in cases:
        groups[case.vendor, case.faults].append(case)
    return groups


def _trials_per_probe(cases: Iterable[Case]) -> dict[str, int]:
    trials: dict[str, int] = {}
    for case in cases:
        trials[case.probe] = max(case.trials, trials.get(case.probe, 0))
    return trials


def _expect_pass(result: ProbeCheck, vendor: str, attempt: Attempt) -> None:
    result.checks += 1
    if attempt.outcome is not Outcome.PASS:
        result.troubles.append(
            f"It does not pass the healthy vendor {vendor}: {_describe_attempt(attempt)}."
        )


def _expect_fail(result: ProbeCheck, case: Case, attempts: Sequence[Attempt]) -> None:
    """At least one attempt must fail with the finding of the case."""
    result.checks += 1
    if not any(_fails_as_expected(attempt, case) for attempt in attempts):
        findings = "; ".join(dict.fromkeys(_describe_attempt(attempt) for attempt in attempts))
        result.troubles.append(
            f"With {case.faults} it must find {case.finding}, and says {findings}."
        )


def _fails_as_expected(attempt: Attempt, case: Case) -> bool:
    return attempt.outcome is Outcome.FAIL and any(
        finding.kind is case.finding and case.says in finding.message
        for finding in attempt.findings
    )


def _describe_attempt(attempt: Attempt) -> str:
    kinds = ", ".join(dict.fromkeys(str(finding.kind) for finding in attempt.findings))
    return f"{attempt.outcome} ({kinds})" if kinds else str(attempt.outcome)
