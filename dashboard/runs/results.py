"""The attempts of a run by group and probe, with what went wrong first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.models import Attempt, Run
from dashboard.models.run import State
from dashboard.runs import text as probe_words

OUTCOMES = ("fail", "void", "pass")
# So many different findings stand on top; the rest is with its attempts.
_TOP = 8


@dataclass(frozen=True, slots=True)
class Counts:
    """How some attempts came out."""

    passed: int
    failed: int
    void: int

    @classmethod
    def of(cls, attempts: Sequence[Attempt]) -> Counts:
        found = [attempt.outcome for attempt in attempts]
        return cls(*(found.count(outcome) for outcome in ("pass", "fail", "void")))

    @property
    def judged(self) -> int:
        """The denominator: void is no verdict."""
        return self.passed + self.failed

    @property
    def all(self) -> int:
        return self.judged + self.void

    @property
    def outcome(self) -> str:
        """The worst that is among them."""
        return "fail" if self.failed else "pass" if self.passed else "void"


@dataclass(frozen=True, slots=True)
class ProbeResults:
    probe: str
    question: str
    counts: Counts
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, slots=True)
class GroupResults:
    code: str
    name: str
    counts: Counts
    probes: tuple[ProbeResults, ...]


@dataclass(frozen=True, slots=True)
class Repeated:
    """One finding and the attempts in which it was made."""

    kind: str
    message: str
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, slots=True)
class Results:
    """What a page shows of a run's attempts; `counts` is of all, `groups` of those asked for."""

    groups: tuple[GroupResults, ...]
    findings: tuple[Repeated, ...]
    more_findings: int
    counts: Counts
    outcome: str


def of(run: Run, outcome: str = "") -> Results:
    """All attempts of a run in one query, or those with one outcome."""
    found = list(Attempt.objects.of(run).order_by("probe", "trial"))
    wanted = outcome if outcome in OUTCOMES else ""
    repeated = _repeated(found)
    return Results(
        groups=tuple(_groups(found, wanted)),
        findings=tuple(repeated[:_TOP]),
        more_findings=max(0, len(repeated) - _TOP),
        counts=Counts.of(found),
        outcome=wanted,
    )


def title(run: Run) -> str:
    """What the run found, in one line."""
    if run.is_active:
        return _("Run {id} is under way").format(id=run.pk)
    if run.state == State.ABANDONED:
        return _("Run {id} was stopped before a verdict").format(id=run.pk)
    judged = run.passed + run.failed
    if not judged:
        return _("Run {id} came to no verdict").format(id=run.pk)
    if not run.failed:
        words = ngettext(
            "Run {id}: the only attempt passed", "Run {id}: all {count} attempts passed", judged
        )
        return words.format(id=run.pk, count=judged)
    words = ngettext(
        "Run {id}: {failed} of {count} attempt failed",
        "Run {id}: {failed} of {count} attempts failed",
        judged,
    )
    return words.format(id=run.pk, failed=run.failed, count=judged)


def _groups(attempts: Sequence[Attempt], wanted: str) -> Iterable[GroupResults]:
    """Groups with some attempt of the wanted outcome; counts are of all attempts, as ever."""
    for group in (*probe_words.GROUPS, probe_words.group_of("")):
        inside = [a for a in attempts if probe_words.group_of(a.probe) is group]
        probes = [probe for probe in _probes(inside, wanted) if probe.attempts]
        if probes:
            probes.sort(key=lambda probe: _rank(probe.counts.outcome))
            yield GroupResults(group.code, str(group.name), Counts.of(inside), tuple(probes))


def _probes(attempts: Sequence[Attempt], wanted: str) -> Iterable[ProbeResults]:
    for probe, found in groupby(attempts, key=lambda attempt: attempt.probe):
        each = sorted(found, key=lambda attempt: (_rank(attempt.outcome), attempt.trial))
        chosen = tuple(a for a in each if not wanted or a.outcome == wanted)
        yield ProbeResults(probe, probe_words.question(probe), Counts.of(each), chosen)


def _rank(outcome: str) -> int:
    return OUTCOMES.index(outcome)


def _repeated(attempts: Sequence[Attempt]) -> list[Repeated]:
    """Every different finding, the most frequent first; failures come before void."""
    made: dict[tuple[str, str, str], list[Attempt]] = {}
    for attempt in sorted(attempts, key=lambda attempt: _rank(attempt.outcome)):
        for finding in attempt.findings:
            key = (attempt.outcome, finding.get("kind", ""), finding.get("message", ""))
            made.setdefault(key, []).append(attempt)
    ranked = sorted(made.items(), key=lambda each: (_rank(each[0][0]), -len(each[1])))
    return [Repeated(kind, message, tuple(found)) for (_o, kind, message), found in ranked]
