"""Every probe can fail, and the self-check notices when one no longer can."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pytest
from typing_extensions import override

from cli.selfcheck.command import check_probes
from cli.selfcheck.expected_failures import CASES, Case
from cli.selfcheck.suite_faults import SELFCHECK_FAULTS
from probes.outcomes import Finding, Metric, Outcome
from probes.suite import PROBES, Probe
from probes.suite.base import DrawnValues, Script
from probes.suite.question_builder import QuestionBuilder
from simulators.background_server import serve_in_background
from simulators.server import build_app
from tests.cli.command_line import toolgauge

CHECKS = list(dict.fromkeys((case.probe, case.finding, case.says) for case in CASES))


@dataclass(frozen=True, slots=True)
class Blind:
    """A probe whose judge misses the check of a case."""

    probe: Probe
    case: Case

    @property
    def name(self) -> str:
        return self.probe.name

    @property
    def question(self) -> str:
        return self.probe.question

    @property
    def settles(self) -> str:
        return self.probe.settles

    @property
    def passes(self) -> str:
        return self.probe.passes

    @property
    def fails(self) -> str:
        return self.probe.fails

    @property
    def requests(self) -> int:
        return self.probe.requests

    @property
    def refusal_metrics(self) -> tuple[Metric, ...]:
        return self.probe.refusal_metrics

    def draw(self, rng: random.Random) -> DrawnValues:
        return self.probe.draw(rng)

    def script(self, drawn: DrawnValues, setting: QuestionBuilder) -> Script:
        judged = yield from self.probe.script(drawn, setting)
        findings = tuple(finding for finding in judged.findings if not self._overlooks(finding))
        outcome = judged.outcome if findings else Outcome.PASS
        return replace(judged, findings=findings, outcome=outcome)

    def _overlooks(self, finding: Finding) -> bool:
        return finding.kind is self.case.finding and self.case.says in finding.message


@pytest.fixture(scope="module")
def selfcheck_url() -> Iterator[str]:
    """The vendors with the faults that only the self-check has."""
    with serve_in_background(build_app(latency=(0, 0), faults=SELFCHECK_FAULTS)) as url:
        yield url


def find_cases(check_: tuple[str, str, str]) -> Sequence[Case]:
    return [case for case in CASES if (case.probe, case.finding, case.says) == check_]


def test_every_probe_can_tell() -> None:
    """Exit 0; each probe passes the healthy vendors and fails every fault of its rows."""
    result = toolgauge("selfcheck")

    probes = json.loads(result.stdout)["probes"]
    assert result.returncode == 0, result.stderr
    assert {probe["probe"] for probe in probes if probe["tells"]} == PROBES.keys()
    assert all(probe["checks"] > 3 for probe in probes)


@pytest.mark.anyio
@pytest.mark.parametrize("lost", CHECKS, ids=lambda lost: "-".join(filter(None, lost)))
async def test_a_probe_that_lost_a_check_is_named(
    lost: tuple[str, str, str], selfcheck_url: str
) -> None:
    """Without one check of its judge, a probe fails the self-check."""
    cases = find_cases(lost)
    probe = Blind(PROBES[lost[0]], cases[0])

    (check,) = await check_probes(selfcheck_url, cases, {lost[0]: probe})

    assert check.probe == lost[0]
    assert len(check.troubles) == len(cases)
    assert all(f"it must find {lost[1]}" in trouble for trouble in check.troubles)


@pytest.mark.anyio
@pytest.mark.parametrize("name", PROBES)
async def test_a_probe_that_fails_the_healthy_is_named(name: str, selfcheck_url: str) -> None:
    """A judge that fails every answer fails the self-check too."""

    class Grim(Blind):
        @override
        def script(self, drawn: DrawnValues, setting: QuestionBuilder) -> Script:
            judged = yield from self.probe.script(drawn, setting)
            return replace(judged, outcome=Outcome.FAIL)

    case = next(case for case in CASES if case.probe == name)

    (checked,) = await check_probes(selfcheck_url, [case], {name: Grim(PROBES[name], case)})

    assert any("does not pass the healthy vendor" in trouble for trouble in checked.troubles)


@pytest.mark.anyio
async def test_a_probe_without_a_fault_is_named(selfcheck_url: str) -> None:
    """A probe that no fault fails is not proved to be able to fail."""
    (checked,) = await check_probes(selfcheck_url, [], {"format": PROBES["format"]})

    assert checked.troubles == ["There is no fault that it must find."]
