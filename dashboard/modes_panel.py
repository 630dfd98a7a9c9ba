"""What the modes card reads: every mode, who holds it on, and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dashboard import figure_words
from dashboard.models import ModeSwitch, Profile
from health.modes import EFFECTS, Mode
from probes.attempts import Metric


@dataclass(frozen=True, slots=True)
class Held:
    """One switch that is on."""

    switch: ModeSwitch

    @property
    def figures(self) -> str:
        """How sure the detector was; for one that came later, what the runs had come to."""
        figures, incident = self.switch.figures, self.switch.incident
        estimate = figures.get("estimate")
        if said := figure_words.sums(figures):
            return said
        if incident is None or estimate is None:
            return ""
        return f"last runs at {figure_words.shown(Metric(incident.metric), estimate):.0%}"


@dataclass(frozen=True, slots=True)
class Shown:
    """One mode with all that hold it."""

    mode: Mode
    automatic: tuple[Held, ...] = ()
    manual: Held | None = None
    # Why it holds although nobody switched it on: too little is known, or what is known is bad.
    default: tuple[str, ...] = ()

    @property
    def effect(self) -> str:
        return EFFECTS[self.mode]

    @property
    def is_on(self) -> bool:
        return bool(self.automatic or self.manual or self.default)


@dataclass(frozen=True, slots=True)
class Panel:
    """All modes, in the order of their strength."""

    modes: tuple[Shown, ...]

    @property
    def on(self) -> int:
        return sum(shown.is_on for shown in self.modes)


def read(profile: Profile, policy: Mapping[str, Any]) -> Panel:
    """The modes of a profile; `policy` is the body of what holds now. One query."""
    switches: dict[str, list[ModeSwitch]] = defaultdict(list)
    held = profile.switches.on().select_related("author", "incident").order_by("on_at", "id")
    for switch in held:
        switches[switch.mode].append(switch)
    default = _defaults(policy)
    return Panel(tuple(_shown(mode, switches[mode], default[mode]) for mode in Mode))


def _shown(mode: Mode, switches: list[ModeSwitch], default: list[str]) -> Shown:
    by_hand = [Held(switch) for switch in switches if switch.incident_id is None]
    return Shown(
        mode,
        automatic=tuple(Held(switch) for switch in switches if switch.incident_id is not None),
        manual=by_hand[0] if by_hand else None,
        default=tuple(default),
    )


def _defaults(policy: Mapping[str, Any]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for each in policy.get("modes", {}).get("default", ()):
        found[each["mode"]].append(each["reason"])
    return found
