"""Did they change, or did we? Everything known to have changed about an endpoint, in one list.

Theirs is what the endpoint told about itself: its chat template and its fingerprint. Ours is what
people edited, and the suite that asks. Each stands beside the runs before and after it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import groupby, pairwise

from django.utils.translation import gettext as _

from dashboard.core.fact_labels import fact_label
from dashboard.core.safe_text import clip, visible
from dashboard.models import Endpoint, EndpointEdit, FingerprintChange, Profile, Run
from dashboard.models.run import State

MOST = 40
# Runs that are looked at for another suite, and laid beside what changed.
MOST_RUNS = 500
_SHOWN = 300
_KEY = ("provider", "model", "endpoint_url", "chat_template_hash")
# What can make an endpoint answer otherwise; a name or a budget cannot.
_FELT = {*_KEY, "base_url", "options", "key", "max_concurrency", "suite_version"}
# An edit and the profile that it opened are written within one transaction.
_AT_ONCE = timedelta(seconds=5)


class Side(StrEnum):
    THEIRS = "theirs"
    OURS = "ours"


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that was and became."""

    code: str
    before: str
    after: str

    @property
    def name(self) -> str:
        return fact_label(self.code)


@dataclass(frozen=True, slots=True)
class Beside:
    """How a run went, for the eye."""

    run_id: int
    passed: int
    trials: int


@dataclass(frozen=True, slots=True)
class Changed:
    """What changed at one moment, by whom, and the runs before and after it."""

    at: datetime
    side: Side
    title: str
    facts: tuple[Fact, ...] = ()
    by: str = ""
    before: Beside | None = None
    after: Beside | None = None

    @property
    def is_theirs(self) -> bool:
        return self.side is Side.THEIRS

    @property
    def is_felt(self) -> bool:
        """Whether it can make a difference to how the endpoint answers."""
        return self.is_theirs or any(fact.code in _FELT for fact in self.facts)

    @property
    def names(self) -> str:
        return ", ".join(dict.fromkeys(fact.name for fact in self.facts))


def read(endpoint: Endpoint, profiles: Sequence[Profile]) -> list[Changed]:
    """The newest changes, newest first. `profiles` are the newest ones. Three queries."""
    runs = _runs(endpoint)
    keys, edits = _merged(list(_of_profiles(profiles)), list(_of_edits(endpoint)))
    found = [*keys, *edits, *_of_fingerprints(endpoint), *_of_suites(runs)]
    newest = sorted(found, key=lambda changed: changed.at, reverse=True)[:MOST]
    times = [run.finished_at for run in runs if run.finished_at]
    return [_beside(changed, runs, times) for changed in newest]


def around(changes: Iterable[Changed], at: datetime, span: timedelta) -> list[Changed]:
    """What changed in the time before a moment; a minute later is what its run noted."""
    felt = (each for each in changes if each.is_felt)
    return [each for each in felt if at - span <= each.at <= at + timedelta(minutes=1)]


def _runs(endpoint: Endpoint) -> list[Run]:
    """The newest ones with a verdict, the oldest first."""
    columns = ("id", "finished_at", "passed", "failed", "suite_version")
    found = Run.objects.of(endpoint).filter(state=State.FINISHED).only(*columns).newest_first()
    return sorted(found[:MOST_RUNS], key=lambda run: (run.finished_at, run.pk))


def _beside(changed: Changed, runs: Sequence[Run], times: Sequence[datetime]) -> Changed:
    # A change that a run noted bears the time of that run's end: the run comes after it.
    place = bisect_right(times, changed.at - timedelta(milliseconds=1))
    before, after = runs[place - 1 : place] if place else [], runs[place : place + 1]
    return replace(changed, before=_counted(before), after=_counted(after))


def _counted(runs: Sequence[Run]) -> Beside | None:
    return next((Beside(run.pk, run.passed, run.passed + run.failed) for run in runs), None)


def _of_profiles(profiles: Sequence[Profile]) -> Iterator[Changed]:
    """Key changes: a template is the endpoint's, the rest was edited by somebody here."""
    for old, new in pairwise(sorted(profiles, key=lambda profile: profile.epoch)):
        facts = [_fact(part, getattr(old, part), getattr(new, part)) for part in _KEY]
        facts = [fact for fact in facts if fact.before != fact.after]
        # Nothing is known of the template of another model yet: no change of theirs.
        edited = [fact for fact in facts if fact.code != "chat_template_hash"]
        side = Side.OURS if edited else Side.THEIRS
        title = _("The profile key changed: profile {epoch} began").format(epoch=new.epoch)
        yield Changed(new.created_at, side, title, tuple(edited or facts))


def _merged(keys: list[Changed], edits: list[Changed]) -> tuple[list[Changed], list[Changed]]:
    """An edit that opened a profile is told once, with who made it and all that it changed."""
    told = []
    for key in keys:
        same = [e for e in edits if not key.is_theirs and abs(e.at - key.at) <= _AT_ONCE]
        edits = [edit for edit in edits if edit not in same]
        facts = tuple(fact for edit in same for fact in edit.facts)
        by = next((edit.by for edit in same), "")
        told.append(replace(key, facts=facts or key.facts, by=by))
    return told, edits


def _of_fingerprints(endpoint: Endpoint) -> Iterator[Changed]:
    found = FingerprintChange.objects.filter(profile__endpoint=endpoint).order_by("-at", "-id")
    for _run, group in groupby(found[:MOST], key=lambda change: change.run_id):
        each = list(group)
        facts = tuple(_fact(change.fact, change.before, change.after) for change in each)
        yield Changed(each[0].at, Side.THEIRS, _("The endpoint told something new"), facts)


def _of_suites(runs: Sequence[Run]) -> Iterator[Changed]:
    for old, new in pairwise(runs):
        if old.suite_version != new.suite_version:
            assert new.finished_at is not None
            fact = _fact("suite_version", old.suite_version, new.suite_version)
            yield Changed(new.finished_at, Side.OURS, _("Another suite asks"), (fact,))


def _of_edits(endpoint: Endpoint) -> Iterator[Changed]:
    found = EndpointEdit.objects.filter(endpoint=endpoint).select_related("by")
    for edit in found.order_by("-at")[:MOST]:
        facts = tuple(_edited(*change) for change in edit.changes)
        by = edit.by.get_username() if edit.by else ""
        yield Changed(edit.at, Side.OURS, _("The endpoint was edited"), facts, by)


def _edited(code: str, before: str, after: str) -> Fact:
    if code != "key":
        return _fact(code, before, after)
    return Fact(code, "", _("a new one was given") if after == "given" else _("it was deleted"))


def _fact(code: str, before: str, after: str) -> Fact:
    if code == "chat_template_hash":
        # Nobody compares hashes by eye beyond their beginning.
        return Fact(code, before[:12], after[:12])
    return Fact(code, visible(clip(before, _SHOWN)), visible(clip(after, _SHOWN)))
