"""Capabilities side by side: the value of each field as words, with the trials behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dashboard.core.labels import CAPABILITIES, FINDINGS, code_label
from dashboard.core.safe_text import clip, visible

# In the order of the table; what a profile has beside them stays on the endpoint's page.
FIELDS = {
    "tool_call_format": gettext_lazy("Call format"),
    "parser": gettext_lazy("Text parser"),
    "schema_level": gettext_lazy("Schemas"),
    "supports_parallel_tool_use": gettext_lazy("Parallel calls"),
    "supports_streaming_tool_use": gettext_lazy("Streamed calls"),
    "reasoning_replay": gettext_lazy("Reasoning replay"),
    "error_repair": gettext_lazy("Error repair"),
    "tool_choice": "tool_choice",
    "parallel_switch": gettext_lazy("Off-switch for parallel"),
    "trimmed_history": gettext_lazy("Trimmed history"),
}
# Formats, parsers and values of a parameter have names, which are the same in every language.
_NAMES = frozenset({"tool_call_format", "parser", "tool_choice"})
# A value is a few words; what is longer is not meant for a cell.
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Ability:
    """One field of one endpoint."""

    field: str
    value: object = None
    trials: int = 0
    agree: int = 0
    low: float | None = None
    high: float | None = None
    run_id: int | None = None
    # Whether calls come at all, for a field that only those need which come as text.
    calls_come: bool = True

    @property
    def is_known(self) -> bool:
        return self.value not in (None, "unknown") or self._needs_none

    @property
    def words(self) -> str:
        if self._needs_none:
            return _("none needed") if self.calls_come else _("no calls")
        if self.is_name and isinstance(self.value, list):
            return words(", ".join(map(str, self.value)) or "none")
        return words(self.value)

    @property
    def is_name(self) -> bool:
        return self.field in _NAMES

    @property
    def detail(self) -> str:
        """The trials behind the words, for whoever hovers."""
        if not self.trials:
            if self.is_known:
                return _("Follows from other fields.")
            return _("No trial has told yet.")
        told = {"agree": self.agree, "trials": self.trials}
        if self.low is None or self.high is None:
            return _("{agree} of {trials} trials say so.").format(**told)
        return _("{agree} of {trials} trials say so; 95 % interval {low} to {high}.").format(
            **told, low=f"{self.low:.0%}", high=f"{self.high:.0%}"
        )

    @property
    def _needs_none(self) -> bool:
        """Where calls come on the wire no parser is needed, which is known once they came."""
        return self.field == "parser" and self.value in (None, "unknown") and self.trials > 0


def abilities(found: Mapping[str, Any]) -> tuple[Ability, ...]:
    """Every field of the table, from the capabilities of a profile."""
    form = (found.get("tool_call_format") or {}).get("value")
    return tuple(
        _ability(field, found.get(field) or {}, calls_come=form != "none") for field in FIELDS
    )


def _ability(field: str, entry: Mapping[str, Any], *, calls_come: bool) -> Ability:
    return Ability(
        field=field,
        value=entry.get("value"),
        trials=entry.get("trials") or 0,
        agree=entry.get("agree") or 0,
        low=entry.get("low"),
        high=entry.get("high"),
        run_id=entry.get("run"),
        calls_come=calls_come,
    )


def words(value: object) -> str:
    """A value as people say it."""
    if value is None:
        return _("unknown")
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list):
        return ", ".join(words(each) for each in value) or _("none")
    if isinstance(value, Mapping):
        told = (f"{words(name)}: {words(each)}" for name, each in value.items())
        return ", ".join(told) or _("none")
    return visible(clip(code_label(value, {**FINDINGS, **CAPABILITIES}), _SHOWN))
