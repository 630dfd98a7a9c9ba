"""What the watch says about endpoints as they are now: for lists, whatever their length."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dashboard.models import Endpoint, Incident, ModeSwitch, Watch
from dashboard.models.watch import Lane
from health.detector import PROBE, Baseline, Known
from health.gauge import Gauge
from health.modes import EFFECTS, Mode
from health.severity import GATES, Severity
from health.watch import Watch as Watched
from probes.attempts import Metric

_METRICS = tuple(GATES)
_KEPT = ("baseline", "reference")


@dataclass(frozen=True, slots=True)
class Condition:
    """One endpoint: what is known, what is open, what is switched on."""

    known: Known = Known.NONE
    below_gate: tuple[Metric, ...] = ()
    # The severities of the open incidents, the worst first.
    severities: tuple[Severity, ...] = ()
    modes: tuple[Mode, ...] = ()

    @property
    def worst(self) -> Severity | None:
        return self.severities[0] if self.severities else None

    @property
    def effects(self) -> list[tuple[Mode, str]]:
        """The modes that are on, each with what it does."""
        return [(mode, EFFECTS[mode]) for mode in self.modes]


UNKNOWN = Condition()


def of_all(endpoint: Endpoint | None = None) -> Mapping[int, Condition]:
    """By the endpoint's id; three queries, for one endpoint or for all that are kept."""
    watches, severities, modes = _watches(endpoint), _severities(endpoint), _modes(endpoint)
    found = watches.keys() | severities.keys() | modes.keys()
    return {
        pk: Condition(
            *watches.get(pk, (Known.NONE, ())),
            severities=tuple(sorted(severities.get(pk, ()), reverse=True)),
            modes=tuple(mode for mode in Mode if mode in modes.get(pk, ())),
        )
        for pk in found
    }


def _of(endpoint: Endpoint | None) -> dict[str, Any]:
    """The present profiles of the endpoints that are asked for."""
    kept: dict[str, Any] = {"profile__ended_at": None, "profile__endpoint__removed_at": None}
    return {**kept, "profile__endpoint": endpoint} if endpoint else kept


def _watches(endpoint: Endpoint | None) -> dict[int, tuple[Known, tuple[Metric, ...]]]:
    # The whole state of a thousand watches would be megabytes; these are a few numbers each.
    fields = [f"state__gauges__{metric.value}__{name}" for metric in _METRICS for name in _KEPT]
    found = Watch.objects.filter(lane=Lane.PROBE, **_of(endpoint))
    return {pk: _judged(kept) for pk, *kept in found.values_list("profile__endpoint", *fields)}


def _judged(kept: list[Any]) -> tuple[Known, tuple[Metric, ...]]:
    pairs = zip(_METRICS, kept[::2], kept[1::2], strict=True)
    gauges = {
        metric: Gauge(baseline=Baseline(*baseline), reference=reference)
        for metric, baseline, reference in pairs
        if baseline is not None
    }
    watch = Watched(gauges=gauges)
    return watch.gauge(Metric.PARSE_SUCCESS).known(PROBE), tuple(watch.below_gate())


def _severities(endpoint: Endpoint | None) -> Mapping[int, Iterable[Severity]]:
    found: dict[int, list[Severity]] = defaultdict(list)
    opened = Incident.objects.filter(ended_at=None, **_of(endpoint))
    for pk, severity in opened.values_list("profile__endpoint", "severity"):
        found[pk].append(Severity(severity))
    return found


def _modes(endpoint: Endpoint | None) -> Mapping[int, set[Mode]]:
    found: dict[int, set[Mode]] = defaultdict(set)
    switches = ModeSwitch.objects.on().filter(**_of(endpoint))
    for pk, mode in switches.values_list("profile__endpoint", "mode"):
        found[pk].add(Mode(mode))
    return found
