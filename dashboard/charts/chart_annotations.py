"""What happened to an endpoint in a span of time, for its charts."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Min, Q
from django.utils.translation import gettext as _

from dashboard.charts import endpoint_changes
from dashboard.charts.baselines import references
from dashboard.charts.figures.change_marks import Kind, Mark
from dashboard.charts.figures.lanes import Episode, Happened
from dashboard.core import labels
from dashboard.core.sql import fetch_rows
from dashboard.models import Endpoint, FingerprintChange, Incident, ModeSwitch, Note, Run
from dashboard.notifications.services import maintenance
from dashboard.trust import detection
from probes.outcomes import Metric

MOST = 100
# A policy has a new version with every change; stages are looked for in so many of them.
MOST_VERSIONS = 500


def read(endpoint: Endpoint, metric: Metric | None, start: datetime, end: datetime) -> Happened:
    """The newest of all that touches the span; with a metric, what its runs are compared with."""
    return Happened(
        incidents=[episode_of(incident) for incident in incidents(endpoint, start, end)],
        modes=_modes(endpoint, start, end),
        windows=_windows(endpoint, start, end),
        references=references(endpoint, metric, start, end) if metric else (),
        marks=_marks(endpoint, start, end),
    )


def incidents(endpoint: Endpoint, start: datetime, end: datetime) -> list[Incident]:
    """Those that were open in the span, the oldest first."""
    found = Incident.objects.filter(
        Q(ended_at=None) | Q(ended_at__gte=start), profile__endpoint=endpoint, opened_at__lte=end
    ).order_by("-opened_at")[:MOST]
    return list(found)[::-1]


def episode_of(incident: Incident) -> Episode:
    return Episode(
        incident.opened_at,
        incident.ended_at,
        f"{detection.headline_of(incident)} (S{incident.worst})",
        began=_("opened"),
        ended=_ended(incident),
    )


def _ended(incident: Incident) -> str:
    words = {
        Incident.State.RECOVERED: _("recovered"),
        Incident.State.ACCEPTED: _("accepted as normal"),
        Incident.State.SUPERSEDED: _("superseded"),
    }
    return words.get(Incident.State(incident.state), "")


def _modes(endpoint: Endpoint, start: datetime, end: datetime) -> list[Episode]:
    found = ModeSwitch.objects.filter(
        Q(off_at=None) | Q(off_at__gte=start), profile__endpoint=endpoint, on_at__lte=end
    ).order_by("-on_at")[:MOST]
    return [
        Episode(
            switch.on_at,
            switch.off_at or _run_out(switch, end),
            _by_hand(switch) if switch.incident_id is None else _automatic(switch),
            began=_("on"),
            ended=_("off"),
        )
        for switch in reversed(found)
    ]


def _by_hand(switch: ModeSwitch) -> str:
    return _("{mode}, by hand").format(mode=switch.mode)


def _automatic(switch: ModeSwitch) -> str:
    return _("{mode}, automatic").format(mode=switch.mode)


def _run_out(switch: ModeSwitch, now: datetime) -> datetime | None:
    """When it ran out although nobody has swept it away yet."""
    over = switch.expires_at is not None and switch.expires_at <= now
    return switch.expires_at if over else None


def _windows(endpoint: Endpoint, start: datetime, end: datetime) -> list[Episode]:
    found = maintenance.windows_between(endpoint, start, end)[-MOST:]
    words = _("maintenance: {reason}")
    return [
        Episode(each.starts_at, each.over_at, words.format(reason=each.reason)) for each in found
    ]


def _marks(endpoint: Endpoint, start: datetime, end: datetime) -> list[Mark]:
    """New fingerprints, suite versions, stages, and what people wrote down."""
    return [
        *_fingerprints(endpoint, start, end),
        *_suites(endpoint, start, end),
        *_stages(endpoint, start, end),
        *_notes(endpoint, start, end),
    ]


def _fingerprints(endpoint: Endpoint, start: datetime, end: datetime) -> list[Mark]:
    found = FingerprintChange.objects.filter(
        profile__endpoint=endpoint, at__gte=start, at__lte=end
    ).order_by("-at", "-id")[:MOST]
    return [Mark(change.at, Kind.FINGERPRINT, _told(change)) for change in found]


def _told(change: FingerprintChange) -> str:
    fact = endpoint_changes.name_of(change.fact)
    if not change.before:
        return _("{fact}: {after}, not told before").format(fact=fact, after=change.after)
    words = _("{fact}: {before} is now {after}")
    return words.format(fact=fact, before=change.before, after=change.after)


def _suites(endpoint: Endpoint, start: datetime, end: datetime) -> list[Mark]:
    """Every version of the suite but the one that the span began with."""
    runs = Run.objects.of(endpoint).filter(finished_at__gte=start, finished_at__lte=end)
    firsts = runs.values("suite_version").annotate(first=Min("finished_at")).order_by("first")
    words = _("suite {version}")
    return [
        Mark(each["first"], Kind.SUITE, words.format(version=each["suite_version"]))
        for each in list(firsts)[1 : MOST + 1]
    ]


def _stages(endpoint: Endpoint, start: datetime, end: datetime) -> list[Mark]:
    wanted = {"endpoint": endpoint.pk, "start": start, "end": end, "most": MOST_VERSIONS}
    words = _("stage {before} is now {after}")
    return [
        Mark(at, Kind.STAGE, words.format(before=_stage(before), after=_stage(after)))
        for at, before, after in fetch_rows(_STAGES, wanted)[-MOST:]
    ]


def _stage(code: str) -> str:
    return labels.code_label(code, labels.STAGES)


def _notes(endpoint: Endpoint, start: datetime, end: datetime) -> list[Mark]:
    found = Note.objects.kept().filter(endpoint=endpoint, at__gte=start, at__lte=end)
    return [Mark(note.at, Kind.NOTE, note.text) for note in found.newest_first()[:MOST]]


_STAGES = """
SELECT at, before, stage FROM (
    SELECT at, version, stage, lag(stage) OVER (ORDER BY version) AS before
    FROM (SELECT at, version, body ->> 'stage' AS stage FROM dashboard_policyversion
        WHERE endpoint_id = %(endpoint)s ORDER BY version DESC LIMIT %(most)s) newest) changes
WHERE before <> stage AND at >= %(start)s AND at <= %(end)s ORDER BY version
"""
