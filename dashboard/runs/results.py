"""The attempts of a run by group and probe, failures first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.models import Attempt, Run
from dashboard.models.run import State
from dashboard.runs import text as probe_text

OUTCOMES = ("fail", "void", "pass")
# Findings listed at the top of the page; the others are shown with their attempts.
_MAX_FINDINGS = 8


@dataclass(frozen=True, slots=True)
class OutcomeCounts:
    passed: int
    failed: int
    void: int

    @classmethod
    def from_attempts(cls, attempts: Sequence[Attempt]) -> OutcomeCounts:
        outcomes = [attempt.outcome for attempt in attempts]
        return cls(*(outcomes.count(outcome) for outcome in ("pass", "fail", "void")))

    @property
    def judged(self) -> int:
        """The denominator: void attempts have no verdict."""
        return self.passed + self.failed

    @property
    def total(self) -> int:
        return self.judged + self.void

    @property
    def outcome(self) -> str:
        """The worst outcome; void only if nothing was judged."""
        return "fail" if self.failed else "pass" if self.passed else "void"


@dataclass(frozen=True, slots=True)
class ProbeResults:
    probe: str
    question: str
    counts: OutcomeCounts
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, slots=True)
class GroupResults:
    code: str
    name: str
    counts: OutcomeCounts
    probes: tuple[ProbeResults, ...]


@dataclass(frozen=True, slots=True)
class RepeatedFinding:
    """One finding and the attempts that have it."""

    kind: str
    message: str
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, slots=True)
class RunResults:
    """The attempts of a run for a page; `groups` are filtered by outcome, `counts` are not."""

    groups: tuple[GroupResults, ...]
    findings: tuple[RepeatedFinding, ...]
    more_findings: int
    counts: OutcomeCounts
    outcome: str


def read_results(run: Run, outcome: str = "") -> RunResults:
    """The attempts of a run, or those with one outcome, in one query."""
    attempts = list(Attempt.objects.of(run).order_by("probe", "trial"))
    shown_outcome = outcome if outcome in OUTCOMES else ""
    findings = _group_findings(attempts)
    return RunResults(
        groups=tuple(_group_results(attempts, shown_outcome)),
        findings=tuple(findings[:_MAX_FINDINGS]),
        more_findings=max(0, len(findings) - _MAX_FINDINGS),
        counts=OutcomeCounts.from_attempts(attempts),
        outcome=shown_outcome,
    )


def run_title(run: Run) -> str:
    """The result of a run in one line."""
    if run.is_active:
        return _("Run {id} is under way").format(id=run.pk)
    if run.state == State.ABANDONED:
        return _("Run {id} was stopped before a verdict").format(id=run.pk)
    judged = run.passed + run.failed
    if not judged:
        return _("Run {id} came to no verdict").format(id=run.pk)
    if not run.failed:
        text = ngettext(
            "Run {id}: the only attempt passed", "Run {id}: all {count} attempts passed", judged
        )
        return text.format(id=run.pk, count=judged)
    text = ngettext(
        "Run {id}: {failed} of {count} attempt failed",
        "Run {id}: {failed} of {count} attempts failed",
        judged,
    )
    return text.format(id=run.pk, failed=run.failed, count=judged)


def _group_results(attempts: Sequence[Attempt], shown_outcome: str) -> Iterable[GroupResults]:
    """Groups with an attempt of the shown outcome; their counts cover all attempts."""
    for group in (*probe_text.GROUPS, probe_text.probe_group("")):
        group_attempts = [a for a in attempts if probe_text.probe_group(a.probe) is group]
        probes = [
            probe for probe in _probe_results(group_attempts, shown_outcome) if probe.attempts
        ]
        if probes:
            probes.sort(key=lambda probe: _rank(probe.counts.outcome))
            yield GroupResults(
                group.code,
                str(group.name),
                OutcomeCounts.from_attempts(group_attempts),
                tuple(probes),
            )


def _probe_results(attempts: Sequence[Attempt], shown_outcome: str) -> Iterable[ProbeResults]:
    for probe, probe_attempts in groupby(attempts, key=lambda attempt: attempt.probe):
        ordered = sorted(
            probe_attempts, key=lambda attempt: (_rank(attempt.outcome), attempt.trial)
        )
        shown = tuple(a for a in ordered if not shown_outcome or a.outcome == shown_outcome)
        yield ProbeResults(
            probe, probe_text.probe_question(probe), OutcomeCounts.from_attempts(ordered), shown
        )


def _rank(outcome: str) -> int:
    return OUTCOMES.index(outcome)


def _group_findings(attempts: Sequence[Attempt]) -> list[RepeatedFinding]:
    """The distinct findings, failures before void, then the most frequent first."""
    attempts_by_finding: dict[tuple[str, str, str], list[Attempt]] = {}
    for attempt in sorted(attempts, key=lambda attempt: _rank(attempt.outcome)):
        for finding in attempt.findings:
            key = (attempt.outcome, finding.get("kind", ""), finding.get("message", ""))
            attempts_by_finding.setdefault(key, []).append(attempt)
    ranked = sorted(
        attempts_by_finding.items(), key=lambda item: (_rank(item[0][0]), -len(item[1]))
    )
    return [RepeatedFinding(kind, message, tuple(rows)) for (_o, kind, message), rows in ranked]
