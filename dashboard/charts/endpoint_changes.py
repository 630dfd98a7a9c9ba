"""Every known change of an endpoint in one list, with the runs before and after it.

The provider changes the chat template and the fingerprint; users change the configuration and the
suite.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import groupby, pairwise
from typing import Any

from django.utils.translation import gettext as _

from dashboard.core.fact_labels import fact_label
from dashboard.core.safe_text import clip, visible
from dashboard.models import Endpoint, EndpointEdit, FingerprintChange, Profile, Run
from dashboard.models.run import State

MAX_CHANGES = 40
# Runs searched for suite changes and for the results before and after a change.
MAX_RUNS = 500
_MAX_VALUE_LENGTH = 300
_KEY_FIELDS = ("provider", "model", "endpoint_url", "dialect", "options", "chat_template_hash")
# Facts that can change the answers of an endpoint; a name or a budget cannot.
_BEHAVIOUR_FACTS = {*_KEY_FIELDS, "base_url", "key", "max_concurrency", "suite_version"}
# An edit and the profile that it opens are written in one transaction.
_SAME_TRANSACTION = timedelta(seconds=5)


class ChangedBy(StrEnum):
    THEIRS = "theirs"
    OURS = "ours"


@dataclass(frozen=True, slots=True)
class ChangedFact:
    """A fact with its value before and after."""

    code: str
    before: str
    after: str

    @property
    def name(self) -> str:
        return fact_label(self.code)


@dataclass(frozen=True, slots=True)
class RunResult:
    """Passed and judged trials of a run."""

    run_id: int
    passed: int
    trials: int


@dataclass(frozen=True, slots=True)
class EndpointChange:
    """Facts changed at one moment, the author, and the runs before and after."""

    at: datetime
    side: ChangedBy
    title: str
    facts: tuple[ChangedFact, ...] = ()
    by: str = ""
    before: RunResult | None = None
    after: RunResult | None = None

    @property
    def is_theirs(self) -> bool:
        return self.side is ChangedBy.THEIRS

    @property
    def is_felt(self) -> bool:
        """Whether it can change the answers of the endpoint."""
        return self.is_theirs or any(fact.code in _BEHAVIOUR_FACTS for fact in self.facts)

    @property
    def names(self) -> str:
        return ", ".join(dict.fromkeys(fact.name for fact in self.facts))


def read_changes(endpoint: Endpoint, profiles: Sequence[Profile]) -> list[EndpointChange]:
    """Newest first; `profiles` are the newest ones. Three queries."""
    runs = _judged_runs(endpoint)
    keys, edits = _merge_edits(list(_profile_changes(profiles)), list(_edit_changes(endpoint)))
    changes = [*keys, *edits, *_fingerprint_changes(endpoint), *_suite_changes(runs)]
    newest = sorted(changes, key=lambda changed: changed.at, reverse=True)[:MAX_CHANGES]
    times = [run.finished_at for run in runs if run.finished_at]
    return [_with_runs(changed, runs, times) for changed in newest]


def changes_before(
    changes: Iterable[EndpointChange], at: datetime, span: timedelta
) -> list[EndpointChange]:
    """Changes from `span` before `at` to a minute after, which the run of `at` recorded."""
    felt = (each for each in changes if each.is_felt)
    return [each for each in felt if at - span <= each.at <= at + timedelta(minutes=1)]


def _judged_runs(endpoint: Endpoint) -> list[Run]:
    """The newest runs with a verdict, oldest first."""
    columns = ("id", "finished_at", "passed", "failed", "suite_version")
    newest = Run.objects.of(endpoint).filter(state=State.FINISHED).only(*columns).newest_first()
    return sorted(newest[:MAX_RUNS], key=lambda run: (run.finished_at, run.pk))


def _with_runs(
    changed: EndpointChange, runs: Sequence[Run], times: Sequence[datetime]
) -> EndpointChange:
    # A change recorded by a run has the time of its end: that run is the one after.
    place = bisect_right(times, changed.at - timedelta(milliseconds=1))
    before, after = runs[place - 1 : place] if place else [], runs[place : place + 1]
    return replace(changed, before=_first_result(before), after=_first_result(after))


def _first_result(runs: Sequence[Run]) -> RunResult | None:
    return next((RunResult(run.pk, run.passed, run.passed + run.failed) for run in runs), None)


def _profile_changes(profiles: Sequence[Profile]) -> Iterator[EndpointChange]:
    """Key changes: the provider changes a template that it shows, users edit the rest."""
    for old, new in pairwise(sorted(profiles, key=lambda profile: profile.epoch)):
        facts = [
            _clipped_fact(part, _key_text(old, part), _key_text(new, part)) for part in _KEY_FIELDS
        ]
        facts = [fact for fact in facts if fact.before != fact.after]
        # The template of another model is not known yet: not a change by the provider.
        edited = [
            fact
            for fact in facts
            if fact.code != "chat_template_hash" or not new.has_template_of_vendor
        ]
        side = ChangedBy.OURS if edited else ChangedBy.THEIRS
        title = _("Profile {epoch} began").format(epoch=new.epoch)
        yield EndpointChange(new.created_at, side, title, tuple(edited or facts))


def _key_text(profile: Profile, part: str) -> str:
    value: str | dict[str, Any] = getattr(profile, part)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _merge_edits(
    keys: list[EndpointChange], edits: list[EndpointChange]
) -> tuple[list[EndpointChange], list[EndpointChange]]:
    """Merges an edit with the profile that it opened into one change with its author."""
    merged = []
    for key in keys:
        same = [e for e in edits if not key.is_theirs and abs(e.at - key.at) <= _SAME_TRANSACTION]
        edits = [edit for edit in edits if edit not in same]
        facts = tuple(fact for edit in same for fact in edit.facts)
        by = next((edit.by for edit in same), "")
        merged.append(replace(key, facts=facts or key.facts, by=by))
    return merged, edits


def _fingerprint_changes(endpoint: Endpoint) -> Iterator[EndpointChange]:
    changes = FingerprintChange.objects.filter(profile__endpoint=endpoint).order_by("-at", "-id")
    for _run, group in groupby(changes[:MAX_CHANGES], key=lambda change: change.run_id):
        each = list(group)
        facts = tuple(_clipped_fact(change.fact, change.before, change.after) for change in each)
        yield EndpointChange(
            each[0].at, ChangedBy.THEIRS, _("The endpoint told something new"), facts
        )


def _suite_changes(runs: Sequence[Run]) -> Iterator[EndpointChange]:
    for old, new in pairwise(runs):
        if old.suite_version != new.suite_version:
            assert new.finished_at is not None
            fact = _clipped_fact("suite_version", old.suite_version, new.suite_version)
            yield EndpointChange(new.finished_at, ChangedBy.OURS, _("Another suite asks"), (fact,))


def _edit_changes(endpoint: Endpoint) -> Iterator[EndpointChange]:
    edits = EndpointEdit.objects.filter(endpoint=endpoint).select_related("by")
    for edit in edits.order_by("-at")[:MAX_CHANGES]:
        facts = tuple(_edited_fact(*change) for change in edit.changes)
        by = edit.by.get_username() if edit.by else ""
        yield EndpointChange(edit.at, ChangedBy.OURS, _("The endpoint was edited"), facts, by)


def _edited_fact(code: str, before: str, after: str) -> ChangedFact:
    if code != "key":
        return _clipped_fact(code, before, after)
    return ChangedFact(
        code, "", _("a new one was given") if after == "given" else _("it was deleted")
    )


def _clipped_fact(code: str, before: str, after: str) -> ChangedFact:
    if code == "chat_template_hash":
        # The beginning of a hash is enough to compare.
        return ChangedFact(code, before[:12], after[:12])
    return ChangedFact(
        code, visible(clip(before, _MAX_VALUE_LENGTH)), visible(clip(after, _MAX_VALUE_LENGTH))
    )
