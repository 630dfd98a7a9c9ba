"""What the modes card reads: every mode, who holds it on, and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext as _

from dashboard.models import ModeSwitch, Profile, RolloutRequest
from dashboard.trust import detection
from dashboard.trust import text as figure_words
from health.modes import Mode, describe_mode
from health.translation import say
from probes.outcomes import Metric


@dataclass(frozen=True, slots=True)
class Held:
    """One switch that is on."""

    switch: ModeSwitch
    # Of a pinned one: the request to let go of it that waits for a decision.
    asked: RolloutRequest | None = None

    @property
    def headline(self) -> str:
        """What the incident says that switched it on."""
        return detection.incident_headline(self.switch.incident) if self.switch.incident else ""

    @property
    def figures(self) -> str:
        """How sure the detector was; for one that came later, what the runs had come to."""
        figures, incident = self.switch.figures, self.switch.incident
        estimate = figures.get("estimate")
        if said := figure_words.evidence_text(figures):
            return said
        if incident is None or estimate is None:
            return ""
        rate = figure_words.displayed_rate(Metric(incident.metric), estimate)
        return _("last runs at {rate}").format(rate=f"{rate:.0%}")


@dataclass(frozen=True, slots=True)
class Shown:
    """One mode with all that hold it."""

    mode: Mode
    automatic: tuple[Held, ...] = ()
    manual: Held | None = None
    # Why it holds although nobody switched it on: too little is known, or what is known is bad.
    default: tuple[str, ...] = ()
    # The last one that was switched off or ran out.
    ended: ModeSwitch | None = None

    @property
    def effect(self) -> str:
        return describe_mode(self.mode)

    @property
    def is_on(self) -> bool:
        return bool(self.automatic or self.manual or self.default)


@dataclass(frozen=True, slots=True)
class Panel:
    """All modes, in the order of their strength."""

    modes: tuple[Shown, ...]
    # Grows with everything that is switched on or off.
    seen: str = ""

    @property
    def on(self) -> int:
        return sum(shown.is_on for shown in self.modes)


def read(profile: Profile, policy: Mapping[str, Any]) -> Panel:
    """The modes of the profile in force; `policy` is the body of what holds now. Three queries.

    What incidents of the profile that waits switched on holds too.
    """
    switches: dict[str, list[ModeSwitch]] = defaultdict(list)
    mine = Q(profile=profile) | Q(profile__endpoint=profile.endpoint_id, profile__ended_at=None)
    held = ModeSwitch.objects.on().filter(mine).select_related("author", "incident")
    for switch in held.order_by("on_at", "id"):
        switches[switch.mode].append(switch)
    default, ended, asked = _defaults(policy), _ended(profile), _asked(switches)
    shown = [_shown(mode, switches[mode], default[mode], ended.get(mode), asked) for mode in Mode]
    return Panel(tuple(shown), _seen(switches, ended, asked))


def last_change(panel: Panel) -> ModeSwitch | None:
    """The switch that was switched on or off last, whoever did it."""
    held = [
        each.switch for shown in panel.modes for each in (*shown.automatic, shown.manual) if each
    ]
    ended = [shown.ended for shown in panel.modes if shown.ended]
    return max([*held, *ended], key=lambda switch: switch.off_at or switch.on_at, default=None)


def _shown(
    mode: Mode,
    switches: list[ModeSwitch],
    default: list[str],
    ended: ModeSwitch | None,
    asked: Mapping[int, RolloutRequest],
) -> Shown:
    by_hand = [Held(each, asked.get(each.pk)) for each in switches if each.incident_id is None]
    return Shown(
        mode,
        automatic=tuple(Held(switch) for switch in switches if switch.incident_id is not None),
        manual=by_hand[0] if by_hand else None,
        default=tuple(default),
        ended=ended,
    )


def _ended(profile: Profile) -> dict[str, ModeSwitch]:
    """Of each mode the switch that ended last."""
    over = profile.switches.filter(off_at__isnull=False).select_related("off_by", "incident")
    newest = over.order_by("mode", "-off_at", "-id").distinct("mode")
    return {switch.mode: switch for switch in newest}


def _asked(switches: Mapping[str, list[ModeSwitch]]) -> dict[int, RolloutRequest]:
    """The requests that wait to let go of a pinned mode, by its switch."""
    pinned = [switch.pk for each in switches.values() for switch in each if switch.pinned]
    if not pinned:
        return {}
    waiting = RolloutRequest.objects.pending().filter(switch__in=pinned)
    return {each.switch_id: each for each in waiting if each.switch_id is not None}


def _seen(
    switches: Mapping[str, list[ModeSwitch]],
    ended: Mapping[str, ModeSwitch],
    asked: Mapping[int, RolloutRequest],
) -> str:
    on = sorted(switch.pk for each in switches.values() for switch in each)
    off = max((switch.pk for switch in ended.values()), default=0)
    waiting = [f"r{each.pk}" for each in asked.values()]
    return "-".join(str(number) for number in [*on, f"o{off}", *waiting])


def _defaults(policy: Mapping[str, Any]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for each in policy.get("modes", {}).get("default", ()):
        found[each["mode"]].append(say(each["reason"]))
    return found
