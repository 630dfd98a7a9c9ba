"""Changes of the evidence of a request, as labels and values."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from dashboard.core import labels
from dashboard.core.fact_labels import fact_label
from dashboard.core.safe_text import clip, visible
from dashboard.trust.decision_evidence import PART_LABELS, EvidenceChange
from health.metric_names import metric_name
from probes.outcomes import Metric

_MAX_NAME_LENGTH = 60


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """A changed part of the evidence. The values are not translated."""

    name: str
    before: str
    after: str


def describe_changes(changes: Iterable[EvidenceChange]) -> list[ChangeLine]:
    """Without parts that others of them explain."""
    changes = list(changes)
    explained = _explained_parts({change.part for change in changes})
    return [
        ChangeLine(
            _part_label(change.part), _format_value(change.before), _format_value(change.after)
        )
        for change in changes
        if change.part not in explained
    ]


def _explained_parts(parts: set[str]) -> set[str]:
    explained = {"modes.on"} if "modes.effective" in parts else set()
    # An edit of what is sent ends the profile.
    if any(part.startswith(("target.", "options.")) for part in parts):
        explained |= {"key.is_present"}
    return explained


def _part_label(part: str) -> str:
    family, _dot, name = part.partition(".")
    part_name = str(PART_LABELS.get(family, visible(family)))
    match family:
        case "figures" if name in set(Metric):
            item = metric_name(Metric(name))
        case "capabilities":
            item = labels.capability_name(name)
        case "target":
            item = fact_label(name)
        case "options":
            item = visible(clip(name, _MAX_NAME_LENGTH))
        case _:
            item = ""
    return _("{what} ({name})").format(what=part_name, name=item) if item else part_name


def _format_value(value: str) -> str:
    """Join a JSON list with commas; return other values unchanged."""
    try:
        parsed = json.loads(value)
    except ValueError:
        return value
    return ", ".join(map(str, parsed)) if isinstance(parsed, list) else value
