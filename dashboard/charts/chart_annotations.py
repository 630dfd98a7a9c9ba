"""Incidents, modes, maintenance and changes of an endpoint, for its charts."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Min, Q
from django.utils.translation import gettext as _

from dashboard.charts.baselines import read_references
from dashboard.charts.figures.change_marks import Mark, MarkKind
from dashboard.charts.figures.lanes import ChartAnnotations, Episode
from dashboard.core import labels
from dashboard.core.fact_labels import fact_label
from dashboard.core.sql import fetch_rows
from dashboard.models import Endpoint, FingerprintChange, Incident, ModeSwitch, Note, Run
from dashboard.notifications.services import maintenance
from dashboard.trust import detection
from probes.outcomes import Metric

MAX_PER_KIND = 100
# Every change makes a policy version; stage changes are searched in the newest of them.
MAX_POLICY_VERSIONS = 500


def read_annotations(
    endpoint: Endpoint, metric: Metric | None, start: datetime, end: datetime
) -> ChartAnnotations:
    """The newest annotations that overlap the span; with a metric, its references too."""
    return ChartAnnotations(
        incidents=[incident_episode(incident) for incident in read_incidents(endpoint, start, end)],
        modes=_mode_episodes(endpoint, start, end),
        windows=_maintenance_episodes(endpoint, start, end),
        references=read_references(endpoint, metric, start, end) if metric else (),
        marks=_read_marks(endpoint, start, end),
    )


def read_incidents(endpoint: Endpoint, start: datetime, end: datetime) -> list[Incident]:
    """Incidents open in the span, oldest first."""
    newest = Incident.objects.filter(
        Q(ended_at=None) | Q(ended_at__gte=start), profile__endpoint=endpoint, opened_at__lte=end
    ).order_by("-opened_at")[:MAX_PER_KIND]
    return list(newest)[::-1]


def incident_episode(incident: Incident) -> Episode:
    return Episode(
        incident.opened_at,
        incident.ended_at,
        f"{detection.incident_headline(incident)} (S{incident.worst})",
        began=_("opened"),
        ended=_end_label(incident),
    )


def _end_label(incident: Incident) -> str:
    labels = {
        Incident.State.RECOVERED: _("recovered"),
        Incident.State.ACCEPTED: _("accepted as normal"),
        Incident.State.SUPERSEDED: _("superseded"),
    }
    return labels.get(Incident.State(incident.state), "")


def _mode_episodes(endpoint: Endpoint, start: datetime, end: datetime) -> list[Episode]:
    switches = ModeSwitch.objects.filter(
        Q(off_at=None) | Q(off_at__gte=start), profile__endpoint=endpoint, on_at__lte=end
    ).order_by("-on_at")[:MAX_PER_KIND]
    return [
        Episode(
            switch.on_at,
            switch.off_at or _expired_at(switch, end),
            _manual_label(switch) if switch.incident_id is None else _automatic_label(switch),
            began=_("on"),
            ended=_("off"),
        )
        for switch in reversed(switches)
    ]


def _manual_label(switch: ModeSwitch) -> str:
    return _("{mode}, by hand").format(mode=switch.mode)


def _automatic_label(switch: ModeSwitch) -> str:
    return _("{mode}, automatic").format(mode=switch.mode)


def _expired_at(switch: ModeSwitch, now: datetime) -> datetime | None:
    """The expiry of a switch that is still marked on."""
    over = switch.expires_at is not None and switch.expires_at <= now
    return switch.expires_at if over else None


def _maintenance_episodes(endpoint: Endpoint, start: datetime, end: datetime) -> list[Episode]:
    windows = maintenance.windows_between(endpoint, start, end)[-MAX_PER_KIND:]
    text = _("maintenance: {reason}")
    return [
        Episode(each.starts_at, each.over_at, text.format(reason=each.reason)) for each in windows
    ]


def _read_marks(endpoint: Endpoint, start: datetime, end: datetime) -> list[Mark]:
    """New fingerprints, suite versions and stages, and notes."""
    return [
        *_fingerprint_marks(endpoint, start, end),
        *_suite_marks(endpoint, start, end),
        *_stage_marks(endpoint, start, end),
        *_note_marks(endpoint, start, end),
    ]


def _fingerprint_marks(endpoint: Endpoint, start: datetime, end: datetime) -> list[Mark]:
    changes = FingerprintChange.objects.filter(
        profile__endpoint=endpoint, at__gte=start, at__lte=end
    ).order_by("-at", "-id")[:MAX_PER_KIND]
    return [Mark(change.at, MarkKind.FINGERPRINT, _fingerprint_text(change)) for change in changes]


def _fingerprint_text(change: FingerprintChange) -> str:
    fact = fact_label(change.fact)
    if not change.before:
        return _("{fact}: {after}, not told before").format(fact=fact, after=change.after)
    text = _("{fact}: {before} is now {after}")
    return text.format(fact=fact, before=change.before, after=change.after)


def _suite_marks(endpoint: Endpoint, start: datetime, end: datetime) -> list[Mark]:
    """Every suite version except the first one of the span."""
    runs = Run.objects.of(endpoint).filter(finished_at__gte=start, finished_at__lte=end)
    firsts = runs.values("suite_version").annotate(first=Min("finished_at")).order_by("first")
    text = _("suite {version}")
    return [
        Mark(each["first"], MarkKind.SUITE, text.format(version=each["suite_version"]))
        for each in list(firsts)[1 : MAX_PER_KIND + 1]
    ]


def _stage_marks(endpoint: Endpoint, start: datetime, end: datetime) -> list[Mark]:
    parameters = {"endpoint": endpoint.pk, "start": start, "end": end, "most": MAX_POLICY_VERSIONS}
    text = _("stage {before} is now {after}")
    return [
        Mark(
            at, MarkKind.STAGE, text.format(before=_stage_label(before), after=_stage_label(after))
        )
        for at, before, after in fetch_rows(_STAGE_CHANGES, parameters)[-MAX_PER_KIND:]
    ]


def _stage_label(code: str) -> str:
    return labels.code_label(code, labels.STAGES)


def _note_marks(endpoint: Endpoint, start: datetime, end: datetime) -> list[Mark]:
    notes = Note.objects.kept().filter(endpoint=endpoint, at__gte=start, at__lte=end)
    return [Mark(note.at, MarkKind.NOTE, note.text) for note in notes.newest_first()[:MAX_PER_KIND]]


_STAGE_CHANGES = """
SELECT at, before, stage FROM (
    SELECT at, version, stage, lag(stage) OVER (ORDER BY version) AS before
    FROM (SELECT at, version, body ->> 'stage' AS stage FROM dashboard_policyversion
        WHERE endpoint_id = %(endpoint)s ORDER BY version DESC LIMIT %(most)s) newest) changes
WHERE before <> stage AND at >= %(start)s AND at <= %(end)s ORDER BY version
"""
