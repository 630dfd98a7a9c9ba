"""Capabilities side by side: the value of each field as words, with the trials behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dashboard.inert import clip, visible

# In the order of the table; what a profile has beside them stays on the endpoint's page.
FIELDS = {
    "tool_call_format": "Call format",
    "parser": "Text parser",
    "schema_level": "Schemas",
    "supports_parallel_tool_use": "Parallel calls",
    "supports_streaming_tool_use": "Streamed calls",
    "reasoning_replay": "Reasoning replay",
    "error_repair": "Error repair",
    "tool_choice": "tool_choice",
    "parallel_switch": "Off-switch for parallel",
    "trimmed_history": "Trimmed history",
}
UNKNOWN = "unknown"
# A value is a few words; what is longer is not meant for a cell.
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Ability:
    """One field of one endpoint."""

    field: str
    words: str
    trials: int = 0
    agree: int = 0
    low: float | None = None
    high: float | None = None
    run_id: int | None = None

    @property
    def is_known(self) -> bool:
        return self.words != UNKNOWN

    @property
    def detail(self) -> str:
        """The trials behind the words, for whoever hovers."""
        if not self.trials:
            return "Follows from other fields." if self.is_known else "No trial has told yet."
        said = f"{self.agree} of {self.trials} trials say so"
        if self.low is None or self.high is None:
            return f"{said}."
        return f"{said}; 95 % interval {self.low:.0%} to {self.high:.0%}."


def abilities(found: Mapping[str, Any]) -> tuple[Ability, ...]:
    """Every field of the table, from the capabilities of a profile."""
    told = [_ability(field, found.get(field) or {}) for field in FIELDS]
    form = found.get("tool_call_format") or {}
    return tuple(_parser(each, form) if each.field == "parser" else each for each in told)


def _parser(told: Ability, form: Mapping[str, Any]) -> Ability:
    """Where calls come on the wire no parser is needed, which is known once they came."""
    if told.is_known or not told.trials:
        return told
    return replace(told, words="no calls" if form.get("value") == "none" else "none needed")


def _ability(field: str, entry: Mapping[str, Any]) -> Ability:
    return Ability(
        field=field,
        words=words(entry.get("value")),
        trials=entry.get("trials") or 0,
        agree=entry.get("agree") or 0,
        low=entry.get("low"),
        high=entry.get("high"),
        run_id=entry.get("run"),
    )


def words(value: object) -> str:
    """A value as people say it."""
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(words(each) for each in value) or "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{words(name)}: {words(each)}" for name, each in value.items()) or "none"
    return visible(clip(str(value), _SHOWN)).replace("_", " ")
