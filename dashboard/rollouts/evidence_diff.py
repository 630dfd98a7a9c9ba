"""What a request rested on and is another thing now, part by part, for whoever reads it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from dashboard.core import labels
from dashboard.core.safe_text import visible
from dashboard.trust.decision_evidence import PART_LABELS, EvidenceChange
from health.metric_names import metric_name
from probes.outcomes import Metric


@dataclass(frozen=True, slots=True)
class Difference:
    """One part; the values are as they were written down, the same for every reader."""

    name: str
    before: str
    after: str


def told(changes: Iterable[EvidenceChange]) -> list[Difference]:
    """The changes in words. Which switches hold the modes on says nothing beside the modes."""
    found = list(changes)
    parts = {each.part for each in found}
    said = [each for each in found if each.part != "modes.on" or "modes.effective" not in parts]
    return [Difference(_named(each.part), _read(each.before), _read(each.after)) for each in said]


def _named(part: str) -> str:
    family, _dot, name = part.partition(".")
    what = str(PART_LABELS.get(family, visible(family)))
    match family:
        case "figures" if name in set(Metric):
            inside = metric_name(Metric(name))
        case "capabilities":
            inside = labels.capability_name(name)
        case _:
            inside = ""
    return _("{what} ({name})").format(what=what, name=inside) if inside else what


def _read(value: str) -> str:
    """A list as people write one; the rest as it is."""
    try:
        found = json.loads(value)
    except ValueError:
        return value
    return ", ".join(map(str, found)) if isinstance(found, list) else value
