"""Reads the modes card: every mode, what switched it on, and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext as _

from dashboard.models import ModeSwitch, Profile, RolloutRequest
from dashboard.trust import detection
from dashboard.trust import text as figure_text
from health.modes import Mode, describe_mode
from health.translation import say
from probes.outcomes import Metric


@dataclass(frozen=True, slots=True)
class ActiveSwitch:
    """A switch that is on."""

    switch: ModeSwitch
    # The pending request to release a pinned mode.
    release_request: RolloutRequest | None = None

    @property
    def headline(self) -> str:
        """The headline of the incident that switched it on."""
        return detection.incident_headline(self.switch.incident) if self.switch.incident else ""

    @property
    def figures(self) -> str:
        """The evidence of the detector; for a mode that was switched on later, the last rate."""
        figures, incident = self.switch.figures, self.switch.incident
        estimate = figures.get("rate", figures.get("estimate"))
        if evidence := figure_text.evidence_text(figures):
            return evidence
        if incident is None or estimate is None:
            return ""
        rate = figure_text.displayed_rate(Metric(incident.metric), estimate)
        return _("last runs at {rate}").format(rate=f"{rate:.0%}")


@dataclass(frozen=True, slots=True)
class ModeRow:
    """One mode with everything that keeps it on."""

    mode: Mode
    automatic: tuple[ActiveSwitch, ...] = ()
    manual: ActiveSwitch | None = None
    # Why it is on without a switch: too little is known, or the results are bad.
    default: tuple[str, ...] = ()
    # The switch that ended last.
    ended: ModeSwitch | None = None

    @property
    def effect(self) -> str:
        return describe_mode(self.mode)

    @property
    def is_on(self) -> bool:
        return bool(self.automatic or self.manual or self.default)


@dataclass(frozen=True, slots=True)
class ModesPanel:
    """All modes, in the order of their strength."""

    modes: tuple[ModeRow, ...]
    # Changes whenever a switch or a release request does.
    state_key: str = ""

    @property
    def on_count(self) -> int:
        return sum(row.is_on for row in self.modes)


def read_modes_panel(profile: Profile, policy: Mapping[str, Any]) -> ModesPanel:
    """Read the modes of the profile in force, with the body of its policy, in three queries.

    Modes that incidents of the candidate profile switched on are included.
    """
    switches: dict[str, list[ModeSwitch]] = defaultdict(list)
    in_use = Q(profile=profile) | Q(profile__endpoint=profile.endpoint_id, profile__ended_at=None)
    active = ModeSwitch.objects.on().filter(in_use).select_related("author", "incident")
    for switch in active.order_by("on_at", "id"):
        switches[switch.mode].append(switch)
    default, ended = _default_reasons(policy), _last_ended(profile)
    requests = _release_requests(switches)
    rows = [
        _mode_row(mode, switches[mode], default[mode], ended.get(mode), requests) for mode in Mode
    ]
    return ModesPanel(tuple(rows), _state_key(switches, ended, requests))


def last_change(panel: ModesPanel) -> ModeSwitch | None:
    """The switch that was switched on or off last."""
    active = [each.switch for row in panel.modes for each in (*row.automatic, row.manual) if each]
    ended = [row.ended for row in panel.modes if row.ended]
    return max([*active, *ended], key=lambda switch: switch.off_at or switch.on_at, default=None)


def _mode_row(
    mode: Mode,
    switches: list[ModeSwitch],
    default: list[str],
    ended: ModeSwitch | None,
    requests: Mapping[int, RolloutRequest],
) -> ModeRow:
    manual = [
        ActiveSwitch(switch, requests.get(switch.pk))
        for switch in switches
        if switch.incident_id is None
    ]
    return ModeRow(
        mode,
        automatic=tuple(
            ActiveSwitch(switch) for switch in switches if switch.incident_id is not None
        ),
        manual=manual[0] if manual else None,
        default=tuple(default),
        ended=ended,
    )


def _last_ended(profile: Profile) -> dict[str, ModeSwitch]:
    """The switch of each mode that ended last."""
    ended = profile.switches.filter(off_at__isnull=False).select_related("off_by", "incident")
    newest = ended.order_by("mode", "-off_at", "-id").distinct("mode")
    return {switch.mode: switch for switch in newest}


def _release_requests(switches: Mapping[str, list[ModeSwitch]]) -> dict[int, RolloutRequest]:
    """The pending requests to release pinned modes, by switch."""
    pinned = [switch.pk for each in switches.values() for switch in each if switch.pinned]
    if not pinned:
        return {}
    pending = RolloutRequest.objects.pending().filter(switch__in=pinned)
    return {each.switch_id: each for each in pending if each.switch_id is not None}


def _state_key(
    switches: Mapping[str, list[ModeSwitch]],
    ended: Mapping[str, ModeSwitch],
    requests: Mapping[int, RolloutRequest],
) -> str:
    on = sorted(switch.pk for each in switches.values() for switch in each)
    off = max((switch.pk for switch in ended.values()), default=0)
    pending = [f"r{request.pk}" for request in requests.values()]
    return "-".join(str(part) for part in [*on, f"o{off}", *pending])


def _default_reasons(policy: Mapping[str, Any]) -> Mapping[str, list[str]]:
    reasons: dict[str, list[str]] = defaultdict(list)
    for each in policy.get("modes", {}).get("default", ()):
        reasons[each["mode"]].append(say(each["reason"]))
    return reasons
