"""Capabilities side by side: a label per field, with the trials behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dashboard.core.labels import CAPABILITIES, FINDINGS, code_label
from dashboard.core.safe_text import clip, visible

# In the order of the table. Other capabilities of a profile are only on the endpoint's page.
FIELDS = {
    "tool_call_format": gettext_lazy("Call format"),
    "parser": gettext_lazy("Text parser"),
    "schema_level": gettext_lazy("Schemas"),
    "supports_parallel_tool_use": gettext_lazy("Parallel calls"),
    "parallel_calls": gettext_lazy("Most calls in one turn"),
    "supports_streaming_tool_use": gettext_lazy("Streamed calls"),
    "reasoning_replay": gettext_lazy("Reasoning replay"),
    "error_repair": gettext_lazy("Error repair"),
    "tool_choice": "tool_choice",
    "parallel_switch": gettext_lazy("Off-switch for parallel"),
    "trimmed_history": gettext_lazy("Trimmed history"),
}
# Values of these fields are identifiers and are not translated.
_CODE_FIELDS = frozenset({"tool_call_format", "parser", "tool_choice"})
_MAX_LABEL_LENGTH = 80


@dataclass(frozen=True, slots=True)
class CapabilityCell:
    """One capability of one endpoint."""

    field: str
    value: object = None
    trials: int = 0
    agree: int = 0
    low: float | None = None
    high: float | None = None
    run_id: int | None = None
    # Whether the endpoint makes calls at all. Only the label of the parser depends on it.
    makes_calls: bool = True
    unsettled: bool = False
    # Whether all calls that were seen came on the wire. Only the label of the parser depends on it.
    all_on_wire: bool = True

    @property
    def is_known(self) -> bool:
        return self.unsettled or self.value not in (None, "unknown") or self._needs_no_parser

    @property
    def label(self) -> str:
        if self.unsettled:
            return _("not settled")
        if self._needs_no_parser and self.makes_calls:
            return _("none needed") if self.all_on_wire else _("none; some calls come as text")
        if self._needs_no_parser:
            return _("no calls")
        if self.is_code and isinstance(self.value, list):
            return value_label(", ".join(map(str, self.value)) or "none")
        return value_label(self.value)

    @property
    def is_code(self) -> bool:
        return self.field in _CODE_FIELDS

    @property
    def detail(self) -> str:
        """The trials behind the label, for the tooltip."""
        if not self.trials:
            if self.is_known:
                return _("Follows from other fields.")
            return _("No trial has told yet.")
        counts = {"agree": self.agree, "trials": self.trials}
        if self.low is None or self.high is None:
            return _("{agree} of {trials} trials say so.").format(**counts)
        return _("{agree} of {trials} trials say so; 95 % interval {low} to {high}.").format(
            **counts, low=f"{self.low:.0%}", high=f"{self.high:.0%}"
        )

    @property
    def _needs_no_parser(self) -> bool:
        """Whether trials have shown that no text parser can be used."""
        return self.field == "parser" and self.value in (None, "unknown") and self.trials > 0


def capability_cells(capabilities: Mapping[str, Any]) -> tuple[CapabilityCell, ...]:
    """A cell per field of the table, from the capabilities of a profile."""
    call_format = (capabilities.get("tool_call_format") or {}).get("value")
    return tuple(
        _capability_cell(field, capabilities.get(field) or {}, makes_calls=call_format != "none")
        for field in FIELDS
    )


def _capability_cell(field: str, entry: Mapping[str, Any], *, makes_calls: bool) -> CapabilityCell:
    return CapabilityCell(
        field=field,
        value=entry.get("value"),
        trials=entry.get("trials") or 0,
        agree=entry.get("agree") or 0,
        low=entry.get("low"),
        high=entry.get("high"),
        run_id=entry.get("run"),
        makes_calls=makes_calls,
        unsettled=bool(entry.get("unsettled")),
        all_on_wire=not entry.get("counts"),
    )


def value_label(value: object) -> str:
    if value is None:
        return _("unknown")
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list):
        return ", ".join(value_label(each) for each in value) or _("none")
    if isinstance(value, Mapping):
        entries = (f"{value_label(name)}: {value_label(each)}" for name, each in value.items())
        return ", ".join(entries) or _("none")
    return visible(clip(code_label(value, {**FINDINGS, **CAPABILITIES}), _MAX_LABEL_LENGTH))
