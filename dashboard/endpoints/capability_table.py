"""The capability profile of an endpoint, a row a field: value, how sure, since when, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from dashboard.core import labels
from dashboard.models import Attempt, Profile, Run

# More attempts than this say the same once more.
MOST_EVIDENCE = 3


@dataclass(frozen=True, slots=True)
class Why:
    """An attempt that settled a field."""

    probe: str
    trial: int
    run_id: int
    is_kept: bool = True

    @property
    def address(self) -> str:
        return reverse("attempt", args=[self.run_id, self.probe, self.trial])


@dataclass(frozen=True, slots=True)
class Field:
    """One field; `before` is what it was under the key before this one, where it differs."""

    code: str
    value: object
    trials: int = 0
    agree: int = 0
    low: float | None = None
    high: float | None = None
    run_id: int | None = None
    verified_at: datetime | None = None
    why: tuple[Why, ...] = ()
    further: int = 0
    before: str = ""

    @property
    def name(self) -> str:
        return labels.capability_name(self.code)

    @property
    def meaning(self) -> str:
        if self.code == "parser" and self.value is None and self.trials:
            return _("none needed: no call comes as text")
        return labels.capability_meaning(self.code, self.value)

    @property
    def is_coded(self) -> bool:
        """Whether its meaning is a list of words of the wire, which nobody translates."""
        return isinstance(self.value, list) and bool(self.value)

    @property
    def is_known(self) -> bool:
        if self.code == "parser":
            return self.value is not None or bool(self.trials)
        return self.value not in (None, "unknown")

    @property
    def told_code(self) -> str:
        """The value as the API tells it, where that is one word."""
        return self.value if isinstance(self.value, str) and self.is_known else ""

    @property
    def follows(self) -> bool:
        """Known without a trial of its own: it follows from other fields."""
        return self.is_known and not self.trials

    @property
    def is_gone(self) -> bool:
        """Whether the attempts behind it were deleted when their time was over."""
        return bool(self.why) and not any(each.is_kept for each in self.why)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """All fields; `previous` is the epoch that they are compared with."""

    fields: tuple[Field, ...]
    previous: int | None = None

    @property
    def changed(self) -> int:
        return sum(bool(field.before) for field in self.fields)

    @property
    def known(self) -> int:
        return sum(field.is_known for field in self.fields)


def read(profile: Profile, earlier: Profile | None) -> Capabilities | None:
    """What was measured, beside the profile before it; None before the first. Two queries."""
    entries = {name: entry for name, entry in profile.capabilities.items() if entry}
    if not entries:
        return None
    runs = Run.objects.in_bulk({entry["run"] for entry in entries.values() if entry.get("run")})
    kept = _kept(list(runs.values()))
    before = earlier.capabilities if earlier else {}
    named = [name for name in labels.CAPABILITY_NAMES if name in entries]
    named += sorted(entries.keys() - set(named))
    fields = [_field(name, entries[name], runs, kept, before.get(name)) for name in named]
    return Capabilities(tuple(fields), earlier.epoch if earlier and before else None)


def _kept(runs: Sequence[Run]) -> set[tuple[int, str, int]]:
    """Which attempts of these runs are still there; a run has some dozens."""
    found = Attempt.objects.filter(
        run_id__in=[run.pk for run in runs], run_at__in=[run.created_at for run in runs]
    )
    return set(found.values_list("run_id", "probe", "trial")) if runs else set()


def _field(
    code: str,
    entry: Mapping[str, Any],
    runs: Mapping[int, Run],
    kept: set[tuple[int, str, int]],
    before: Mapping[str, Any] | None,
) -> Field:
    run = runs.get(entry.get("run") or 0)
    why = _why(entry.get("evidence") or (), run, kept)
    return Field(
        code=code,
        value=entry.get("value"),
        trials=entry.get("trials") or 0,
        agree=entry.get("agree") or 0,
        low=entry.get("low"),
        high=entry.get("high"),
        run_id=run.pk if run else None,
        verified_at=run.finished_at if run else None,
        why=tuple(why[:MOST_EVIDENCE]),
        further=max(len(why) - MOST_EVIDENCE, 0),
        before=_before(code, entry, before),
    )


def _why(evidence: Sequence[str], run: Run | None, kept: set[tuple[int, str, int]]) -> list[Why]:
    if run is None:
        return []
    told = [str(each).rpartition("/")[::2] for each in evidence]
    pairs = [(probe, int(trial)) for probe, trial in told if probe and trial.isdecimal()]
    found = [Why(probe, n, run.pk, (run.pk, probe, n) in kept) for probe, n in pairs]
    return sorted(found, key=lambda why: not why.is_kept)


def _before(code: str, entry: Mapping[str, Any], before: Mapping[str, Any] | None) -> str:
    """What it was, where both are known and differ."""
    old, new = (before or {}).get("value"), entry.get("value")
    if old in (None, "unknown") or new in (None, "unknown") or old == new:
        return ""
    return labels.capability_meaning(code, old)
