"""The capability table of an endpoint: value, confidence, run and evidence per capability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from dashboard.core import labels
from dashboard.models import Attempt, Profile, Run

# Further attempts are only counted.
MAX_EVIDENCE = 3


@dataclass(frozen=True, slots=True)
class Evidence:
    """An attempt that determined a capability."""

    probe: str
    trial: int
    run_id: int
    is_kept: bool = True

    @property
    def address(self) -> str:
        return reverse("attempt", args=[self.run_id, self.probe, self.trial])


@dataclass(frozen=True, slots=True)
class CapabilityRow:
    """One capability; `previous` is its meaning in the earlier profile if that differs."""

    code: str
    value: object
    trials: int = 0
    agree: int = 0
    low: float | None = None
    high: float | None = None
    run_id: int | None = None
    verified_at: datetime | None = None
    evidence: tuple[Evidence, ...] = ()
    more_evidence: int = 0
    previous: str = ""
    unsettled: bool = False
    counts: Mapping[str, Any] = field(default_factory=dict)  # trials per value, where they differ

    @property
    def name(self) -> str:
        return labels.capability_name(self.code)

    @property
    def meaning(self) -> str:
        if self.unsettled:
            return labels.unsettled_meaning(self.code, self.value, self.counts)
        if self.code == "parser" and self.value is None and self.trials:
            return self._no_parser_meaning
        return labels.capability_meaning(self.code, self.value)

    @property
    def _no_parser_meaning(self) -> str:
        shown = sum(self.counts.values())
        if not shown:
            return _("none needed: no call comes as text")
        leaked = _("none: calls come on the wire, and {leaked} of {shown} came as text")
        return leaked.format(leaked=shown - self.agree, shown=shown)

    @property
    def is_code(self) -> bool:
        """The meaning is a list of wire values, which are not translated."""
        return isinstance(self.value, list) and bool(self.value) and not self.unsettled

    @property
    def is_known(self) -> bool:
        if self.unsettled:
            return True
        if self.code == "parser":
            return self.value is not None or bool(self.trials)
        return self.value not in (None, "unknown")

    @property
    def api_value(self) -> str:
        """The value as in the API; empty unless it is a single word."""
        return self.value if isinstance(self.value, str) and self.is_known else ""

    @property
    def is_derived(self) -> bool:
        """Known without trials of its own, from other capabilities."""
        return self.is_known and not self.trials

    @property
    def is_evidence_deleted(self) -> bool:
        """Retention deleted all attempts behind it."""
        return bool(self.evidence) and not any(each.is_kept for each in self.evidence)


@dataclass(frozen=True, slots=True)
class CapabilityTable:
    """`previous_epoch` is the profile that the rows are compared with."""

    rows: tuple[CapabilityRow, ...]
    previous_epoch: int | None = None

    @property
    def changed(self) -> int:
        return sum(bool(row.previous) for row in self.rows)

    @property
    def known(self) -> int:
        return sum(row.is_known for row in self.rows)


def read_capability_table(profile: Profile, earlier: Profile | None) -> CapabilityTable | None:
    """Compare a profile with an earlier one; None before the first measurement. Two queries."""
    entries = {name: entry for name, entry in profile.capabilities.items() if entry}
    if not entries:
        return None
    runs = Run.objects.in_bulk({entry["run"] for entry in entries.values() if entry.get("run")})
    kept = _kept_attempts(list(runs.values()))
    previous = earlier.capabilities if earlier else {}
    codes = [code for code in labels.CAPABILITY_NAMES if code in entries]
    codes += sorted(entries.keys() - set(codes))
    rows = [_capability_row(code, entries[code], runs, kept, previous.get(code)) for code in codes]
    return CapabilityTable(tuple(rows), earlier.epoch if earlier and previous else None)


def _kept_attempts(runs: Sequence[Run]) -> set[tuple[int, str, int]]:
    """The attempts of these runs that are not deleted; a run has dozens."""
    attempts = Attempt.objects.filter(
        run_id__in=[run.pk for run in runs], run_at__in=[run.created_at for run in runs]
    )
    return set(attempts.values_list("run_id", "probe", "trial")) if runs else set()


def _capability_row(
    code: str,
    entry: Mapping[str, Any],
    runs: Mapping[int, Run],
    kept: set[tuple[int, str, int]],
    previous: Mapping[str, Any] | None,
) -> CapabilityRow:
    run = runs.get(entry.get("run") or 0)
    evidence = _read_evidence(entry.get("evidence") or (), run, kept)
    return CapabilityRow(
        code=code,
        value=entry.get("value"),
        trials=entry.get("trials") or 0,
        agree=entry.get("agree") or 0,
        low=entry.get("low"),
        high=entry.get("high"),
        run_id=run.pk if run else None,
        verified_at=run.finished_at if run else None,
        evidence=tuple(evidence[:MAX_EVIDENCE]),
        more_evidence=max(len(evidence) - MAX_EVIDENCE, 0),
        previous=_previous_meaning(code, entry, previous),
        unsettled=bool(entry.get("unsettled")),
        counts=entry.get("counts") or {},
    )


def _read_evidence(
    stored: Sequence[str], run: Run | None, kept: set[tuple[int, str, int]]
) -> list[Evidence]:
    if run is None:
        return []
    parts = [str(each).rpartition("/")[::2] for each in stored]
    pairs = [(probe, int(trial)) for probe, trial in parts if probe and trial.isdecimal()]
    evidence = [Evidence(probe, n, run.pk, (run.pk, probe, n) in kept) for probe, n in pairs]
    return sorted(evidence, key=lambda each: not each.is_kept)


def _previous_meaning(
    code: str, entry: Mapping[str, Any], previous: Mapping[str, Any] | None
) -> str:
    """The earlier meaning if both values are known and differ."""
    old, new = (previous or {}).get("value"), entry.get("value")
    if old in (None, "unknown") or new in (None, "unknown") or old == new:
        return ""
    return labels.capability_meaning(code, old)
