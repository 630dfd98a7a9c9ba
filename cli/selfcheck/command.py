"""`toolgauge selfcheck`: can every probe fail? Each against vendors that must fail and pass it."""

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
from simulators.vendors.registry import SPECS

GOOD, BELOW, STOPPED = 0, 1, 130
SEED = "selfcheck"
CLEAN_TRIALS = 3
_SPECS = {spec.name: spec for spec in SPECS}


@dataclass
class ProbeCheck:
    """One probe: how many checks it was put to, and each that it could not tell."""

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
    """Serve the vendors, check every probe, and name those that cannot tell."""
    try:
        with serve_in_background(build_app(latency=(0, 0), faults=SELFCHECK_FAULTS)) as url:
            checked = asyncio.run(check(url))
    except KeyboardInterrupt:
        print_message("toolgauge selfcheck: stopped.")
        return STOPPED
    results: list[JSON] = [probe.as_json() for probe in checked]
    print_result(json.dumps({"probe_version": SUITE_VERSION, "probes": results}, indent=2))
    blind = [probe for probe in checked if probe.troubles]
    for probe in blind:
        print_message(f"toolgauge selfcheck: {probe.probe} cannot tell: {' '.join(probe.troubles)}")
    if not blind:
        checks = sum(probe.checks for probe in checked)
        print_message(f"{len(checked)} probes can tell, in {checks} checks.")
    return BELOW if blind else GOOD


async def check(
    url: str, cases: Sequence[Case] = CASES, probes: Mapping[str, Probe] = PROBES
) -> list[ProbeCheck]:
    """Every probe against the vendors served at an address, in the order of the suite."""
    checked = {name: ProbeCheck(name) for name in probes}
    for name in probes.keys() - {case.probe for case in cases}:
        checked[name].troubles.append("There is no fault that it must find.")
    healthy = {PLAIN: list(probes)}
    for case in cases:
        healthy.setdefault(case.vendor, []).append(case.probe)
    for vendor, names in healthy.items():
        trials = [Trial(name, n + 1) for name in dict.fromkeys(names) for n in range(CLEAN_TRIALS)]
        for attempt in await _attempts(f"{url}", vendor, trials, probes):
            _must_pass(checked[attempt.probe], vendor, attempt)
    for (vendor, faults), group in _groups(cases).items():
        trials = [Trial(name, n + 1) for name, most in _most(group).items() for n in range(most)]
        made = await _attempts(f"{url}/with/{faults}", vendor, trials, probes)
        for case in group:
            _must_fail(checked[case.probe], case, [a for a in made if a.probe == case.probe])
    return list(checked.values())


async def _attempts(
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
    async with aclosing(runner.run_trials(target, trials, seed=SEED, probes=probes)) as running:
        return [attempt async for attempt in running]


def _groups(cases: Iterable[Case]) -> dict[tuple[str, str], list[Case]]:
    """Cases that the same vendor with the same faults can serve."""
    groups: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for case in cases:
        groups[case.vendor, case.faults].append(case)
    return groups


def _most(cases: Iterable[Case]) -> dict[str, int]:
    most: dict[str, int] = {}
    for case in cases:
        most[case.probe] = max(case.trials, most.get(case.probe, 0))
    return most


def _must_pass(checked: ProbeCheck, vendor: str, attempt: Attempt) -> None:
    checked.checks += 1
    if attempt.outcome is not Outcome.PASS:
        checked.troubles.append(f"It does not pass the healthy vendor {vendor}: {_said(attempt)}.")


def _must_fail(checked: ProbeCheck, case: Case, attempts: Sequence[Attempt]) -> None:
    """One of the tries must fail for the reason that the case names."""
    checked.checks += 1
    if not any(_fails(attempt, case) for attempt in attempts):
        findings = "; ".join(dict.fromkeys(_said(attempt) for attempt in attempts))
        checked.troubles.append(
            f"With {case.faults} it must find {case.finding}, and says {findings}."
        )


def _fails(attempt: Attempt, case: Case) -> bool:
    return attempt.outcome is Outcome.FAIL and any(
        finding.kind is case.finding and case.says in finding.message
        for finding in attempt.findings
    )


def _said(attempt: Attempt) -> str:
    kinds = ", ".join(dict.fromkeys(str(finding.kind) for finding in attempt.findings))
    return f"{attempt.outcome} ({kinds})" if kinds else str(attempt.outcome)
