"""What happened to an endpoint in a span of time, for its chart."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import groupby

from django.db.models import Q

from dashboard.charts.lanes import Episode, Happened, Reference
from dashboard.figure_words import shown
from dashboard.models import Endpoint, Incident, ModeSwitch, Profile, WatchEvent
from dashboard.models.watch import Lane
from dashboard.services import detection, maintenance
from health.detector import PROBE, Baseline, Known
from health.metrics import rate_of
from health.watch import Kind
from probes.attempts import Metric

MOST = 100
_SETTLING = (Kind.FROZEN.value, Kind.CORRELATED.value, detection.ACCEPTED)


def read(endpoint: Endpoint, metric: Metric, start: datetime, end: datetime) -> Happened:
    """The newest incidents, modes and windows that touch the span, and the metric's references."""
    return Happened(
        incidents=_incidents(endpoint, start),
        modes=_modes(endpoint, start, end),
        windows=_windows(endpoint, start, end),
        references=_references(endpoint, metric, start, end),
    )


def _incidents(endpoint: Endpoint, start: datetime) -> list[Episode]:
    found = Incident.objects.filter(
        Q(ended_at=None) | Q(ended_at__gte=start), profile__endpoint=endpoint
    ).order_by("-opened_at")[:MOST]
    return [
        Episode(
            incident.opened_at,
            incident.ended_at,
            f"{detection.headline_of(incident)} (S{incident.worst})",
            began="opened",
            ended=incident.state,
        )
        for incident in reversed(found)
    ]


def _modes(endpoint: Endpoint, start: datetime, end: datetime) -> list[Episode]:
    found = ModeSwitch.objects.filter(
        Q(off_at=None) | Q(off_at__gte=start), profile__endpoint=endpoint
    ).order_by("-on_at")[:MOST]
    return [
        Episode(
            switch.on_at,
            switch.off_at or _run_out(switch, end),
            f"{switch.mode}, {'by hand' if switch.incident_id is None else 'automatic'}",
            began="on",
            ended="off",
        )
        for switch in reversed(found)
    ]


def _run_out(switch: ModeSwitch, now: datetime) -> datetime | None:
    """When it ran out although nobody has swept it away yet."""
    over = switch.expires_at is not None and switch.expires_at <= now
    return switch.expires_at if over else None


def _windows(endpoint: Endpoint, start: datetime, end: datetime) -> list[Episode]:
    found = maintenance.between(endpoint, start, end)[-MOST:]
    return [Episode(each.starts_at, each.over_at, f"maintenance: {each.reason}") for each in found]


def _references(
    endpoint: Endpoint, metric: Metric, start: datetime, end: datetime
) -> list[Reference]:
    settled = WatchEvent.objects.filter(
        profile__endpoint=endpoint, metric=metric.value, lane=Lane.PROBE, kind__in=_SETTLING
    ).select_related("profile")
    newest = sorted(settled.order_by("-id")[:MOST], key=lambda event: (event.profile_id, event.id))
    found = [
        reference
        for _, events in groupby(newest, key=lambda event: event.profile_id)
        for reference in _of_profile(metric, list(events), end)
    ]
    profile = endpoint.profile
    since = [event.at for event in newest if event.profile_id == profile.pk]
    found += _provisional(profile, metric, since[-1] if since else profile.created_at, end)
    return [each for each in found if each.end >= start]


def _of_profile(metric: Metric, events: list[WatchEvent], end: datetime) -> Iterable[Reference]:
    over = events[-1].profile.ended_at or end
    ends = [event.at for event in events[1:]] + [over]
    for event, until in zip(events, ends, strict=True):
        baseline = Baseline(*event.figures.get("baseline", (0, 0, 0)))
        rate = event.figures.get("reference")
        if rate is None and baseline.known() is Known.FROZEN:
            rate = baseline.reference()
        if rate is not None:
            words = _words(metric, rate, baseline)
            yield Reference(event.at, until, shown(metric, rate), words)


def _provisional(
    profile: Profile, metric: Metric, since: datetime, end: datetime
) -> list[Reference]:
    """What runs are compared with while the baseline is not full; it moves with every run."""
    gauge = detection.watch_of(profile).gauge(metric)
    rate = gauge.judged_by(PROBE)
    if rate is None or gauge.reference is not None:
        return []
    words = f"provisional {_words(metric, rate, gauge.baseline)}"
    return [Reference(since, end, shown(metric, rate), words, provisional=True)]


def _words(metric: Metric, success: float, baseline: Baseline) -> str:
    of = rate_of(metric, baseline.trials, baseline.trials - baseline.successes)
    said = f"baseline {of.count} of {of.trials} in {baseline.runs} runs"
    return f"reference {shown(metric, success):.1%}<br>{said}"
