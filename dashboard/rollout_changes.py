"""What a request rested on and is another thing now, part by part, for whoever reads it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dashboard import capability_words
from dashboard.inert import visible
from dashboard.rollout_evidence import Changed
from health.words import name_of
from probes.attempts import Metric

_PARTS = {
    "evidence": gettext_lazy("The evidence itself"),
    "endpoint": gettext_lazy("The endpoint"),
    "key": gettext_lazy("The profile key"),
    "suite_version": gettext_lazy("The version of the suite"),
    "runs": gettext_lazy("The runs"),
    "figures": gettext_lazy("The figures"),
    "capabilities": gettext_lazy("A capability"),
    "gates": gettext_lazy("The gates"),
    "modes": gettext_lazy("The modes"),
    "incidents": gettext_lazy("The open incidents"),
    "stage": gettext_lazy("The stage"),
    "in_force": gettext_lazy("The profile in force"),
    "switch": gettext_lazy("The pinned mode"),
    "condition": gettext_lazy("A condition of the stage"),
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One part; the values are as they were written down, the same for every reader."""

    name: str
    before: str
    after: str


def told(changes: Iterable[Changed]) -> list[Difference]:
    """The changes in words. Which switches hold the modes on says nothing beside the modes."""
    found = list(changes)
    parts = {each.part for each in found}
    said = [each for each in found if each.part != "modes.on" or "modes.effective" not in parts]
    return [Difference(_named(each.part), _read(each.before), _read(each.after)) for each in said]


def _named(part: str) -> str:
    family, _dot, name = part.partition(".")
    what = str(_PARTS.get(family, visible(family)))
    match family:
        case "figures" if name in set(Metric):
            inside = name_of(Metric(name))
        case "capabilities":
            inside = capability_words.name_of(name)
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
