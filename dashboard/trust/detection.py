"""What follows from a finished run: the watch of its profile, incidents, modes and notices.

This is part of the transaction that finishes the run, and the endpoint is locked. A run that was
followed before changes nothing, and neither does a run of a superseded profile.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from dashboard.audit import services as audit
from dashboard.core.errors import Refused
from dashboard.models import Endpoint, Incident, Notice, Profile, Run, RunMetric, WatchEvent
from dashboard.models import Watch as WatchRow
from dashboard.models.audit import Action
from dashboard.models.run import State, Trigger
from dashboard.models.watch import ACCEPTED, ACKNOWLEDGED, RELEASED, Lane
from dashboard.notifications.services import outbox
from dashboard.runs import evidence
from dashboard.trust import modes, stage_changes
from dashboard.trust.incident_end import end_incident, record_event
from dashboard.trust.settle import settle
from health import translation
from health import watch as watching
from health.detector import PROBE, Baseline
from health.metric_names import degradation_headline, limit_headline
from health.watch import ChangeKind, MetricCount, Watch, WatchChange, WatchedRun, watch_from_json
from probes.outcomes import Metric

# The most runs that a reset baseline uses.
MAX_ACCEPTED_RUNS = 40
_RELEASE_TEXTS = {
    ChangeKind.RELEASE_WANTED: "it has recovered and awaits release",
    ChangeKind.RELEASE_WITHDRAWN: "later runs were bad, so it no longer awaits release",
}
# The figures of a change that its headline depends on.
_MEASURED = ("rate", "latest", "trials", "failures")
_END_STATES = {
    ChangeKind.RECOVERED: Incident.State.RECOVERED,
    ChangeKind.SUPERSEDED: Incident.State.SUPERSEDED,
}


def follow_run(run: Run, profile: Profile) -> Watch:
    """Update the watch of a profile with a finished run, and apply the changes."""
    row = _watch_row(profile, Lane.PROBE)
    before = watch_from_json(row.state)
    if profile.ended_at is not None or run.state != State.FINISHED:
        return before
    watched_run = as_watched_run(run)
    after, changes = watching.follow_run(before, watched_run)
    if after is before:
        return before
    _store_watch(row, after)
    apply_changes(profile, Lane.PROBE, watched_run, changes)
    if any(change.kind is ChangeKind.OPENED for change in changes):
        evidence.pin_evidence(run, why="it opened an incident")
    return after


def apply_changes(
    profile: Profile, lane: Lane, watched_run: WatchedRun, changes: Iterable[WatchChange]
) -> None:
    """Record the changes, with the incidents, modes and notices that follow from them."""
    for change in changes:
        incident = _update_incident(profile, lane, watched_run, change)
        WatchEvent.objects.create(
            profile=profile,
            incident=incident,
            metric=change.metric.value,
            lane=lane,
            kind=change.kind.value,
            severity=change.severity,
            at=watched_run.at,
            after=watched_run.number,
            figures=dict(change.figures),
        )


def replay_watch(profile: Profile) -> Watch:
    """Recompute the watch of the probe lane from all runs and all decisions of people."""
    pending = list(_decisions(profile).order_by("id"))
    watch = Watch()
    for run in profile.runs.filter(state=State.FINISHED).order_by("id"):
        watch, pending = _apply_decisions(watch, pending, before=run.pk)
        watch, _ = watching.follow_run(watch, as_watched_run(run))
    return _apply_decisions(watch, pending, before=None)[0]


def as_watched_run(run: Run) -> WatchedRun:
    """The counts of a finished run that the watch uses."""
    assert run.finished_at is not None
    counts = {
        Metric(row.metric): MetricCount(row.watched_trials, row.watched_failures, row.refused)
        for row in RunMetric.objects.filter(run=run)
    }
    every = run.every or Endpoint.objects.get(pk=run.endpoint_id).ttl
    return WatchedRun(run.pk, run.finished_at, run.suite_version, every, counts)


@transaction.atomic
def accept_baseline(profile: Profile, metric: Metric, *, by: User | None, note: str) -> None:
    """Reset the baseline to the runs since the incident opened, and end the incident."""
    endpoint = Endpoint.objects.select_for_update().get(pk=profile.endpoint_id)
    profile.refresh_from_db()
    if profile.ended_at is not None:
        raise Refused(
            _("This profile has been superseded; nothing of it can be accepted any more.")
        )
    note = _check_note(note)
    row = _watch_row(profile, Lane.PROBE)
    before = watch_from_json(row.state)
    if _decisions(profile).filter(kind=ACCEPTED, metric=metric.value, after=before.last).exists():
        raise Refused(_("Somebody has accepted it meanwhile, and no run was made since."))
    incident = _find_open_incident(profile, metric, Lane.PROBE)
    baseline = Baseline()
    # Runs that were judged by another format say nothing about what is normal in this one.
    if not (metric is Metric.PARSE_SUCCESS and _adopt_text_format(profile)):
        for run in baseline_candidates(profile, metric):
            baseline = baseline.plus(run.watched_trials - run.watched_failures, run.watched_trials)
    _store_watch(row, watching.accept_baseline(before, metric, baseline))
    figures = {
        "baseline": [baseline.successes, baseline.trials, baseline.runs],
        "before": before.gauge(metric).as_json(),
    }
    event = record_event(profile, metric, ACCEPTED, before.last, by=by, note=note, figures=figures)
    audit.record(
        Action.BASELINE_ACCEPTED,
        subject=f"{metric.value} of {endpoint}",
        endpoint=endpoint,
        by=by,
        reason=note,
        before={"gauge": figures["before"]},
        after={"baseline": figures["baseline"]},
    )
    if incident is not None:
        end_incident(incident, Incident.State.ACCEPTED, event, reason=f"Accepted as normal: {note}")
        what = f"{_english_headline(incident)}; it was accepted as normal"
        _notify(Notice.Kind.MODE_CHANGED, incident, event.at, what)
    endpoint.onboarding_left = max(endpoint.onboarding_left, settings.BASELINE_RUNS)
    endpoint.next_trigger, endpoint.next_due_at = Trigger.BASELINE, Now()
    endpoint.save(update_fields=["onboarding_left", "next_trigger", "next_due_at"])
    settle(endpoint)


def _adopt_text_format(profile: Profile) -> bool:
    """Adopt the current text format of calls as the profile's; False if it is the same."""
    now = profile.capabilities.get("parser", {}).get("value") or ""
    if profile.text_format in (None, now):
        return False
    profile.text_format = now
    profile.save(update_fields=["text_format"])
    return True


def baseline_candidates(profile: Profile, metric: Metric) -> list[RunMetric]:
    """The runs that a baseline reset would use, newest first, spaced as in any baseline."""
    rows = RunMetric.objects.filter(profile=profile, metric=metric.value, watched_trials__gt=0)
    version = WatchRow.objects.state_of(profile).suite_version
    rows = rows.filter(run__suite_version=version, run__state=State.FINISHED)
    incident = _find_open_incident(profile, metric, Lane.PROBE)
    if incident is not None:
        rows = rows.filter(run_id__gte=incident.opened_by)
    candidates: list[RunMetric] = []
    for row in rows.order_by("-run_id").iterator(chunk_size=100):
        if (
            not candidates
            or candidates[-1].finished_at - row.finished_at >= watching.MIN_BASELINE_GAP
        ):
            candidates.append(row)
        if len(candidates) == MAX_ACCEPTED_RUNS:
            break
    return candidates


@transaction.atomic
def release_incident(
    incident: Incident, *, by: User | None, note: str, is_offered: bool = False
) -> None:
    """Allow the modes of a most severe incident to end as soon as its runs have recovered.

    With `is_offered` the person was told that it has recovered; refuses if it has not any more.
    """
    endpoint = Endpoint.objects.select_for_update(of=("self",)).get(profiles=incident.profile_id)
    incident.refresh_from_db()
    if incident.ended_at is not None:
        raise Refused(_("This incident is over."))
    if is_offered and not incident.release_wanted:
        raise Refused(_("It is no longer recovered: later runs were bad. Nothing was released."))
    note = _check_note(note)
    profile, metric = incident.profile, Metric(incident.metric)
    row = _watch_row(profile, Lane(incident.lane))
    watch = watch_from_json(row.state)
    _store_watch(row, watching.release_alarm(watch, metric))
    record_event(profile, metric, RELEASED, watch.last, by=by, note=note, incident=incident)
    subject = str(incident)
    audit.record(Action.INCIDENT_RELEASED, subject=subject, endpoint=endpoint, by=by, reason=note)
    incident.release_wanted = False
    incident.save(update_fields=["release_wanted"])
    # A person is waiting for the outcome, so probe again soon.
    Endpoint.objects.filter(pk=endpoint.pk).update(next_due_at=Now(), next_trigger=Trigger.RECOVERY)


@transaction.atomic
def acknowledge_incident(incident: Incident, *, by: User | None, note: str = "") -> bool:
    """Record who has seen the incident; False if it was acknowledged before."""
    locked = Incident.objects.select_for_update().get(pk=incident.pk)
    if locked.acknowledged_at is not None:
        return False
    locked.acknowledged_at, locked.acknowledged_by = Now(), by
    locked.save(update_fields=["acknowledged_at", "acknowledged_by"])
    watch = WatchRow.objects.state_of(locked.profile, Lane(locked.lane))
    metric = Metric(locked.metric)
    note, endpoint = note.strip(), locked.profile.endpoint
    record_event(
        locked.profile, metric, ACKNOWLEDGED, watch.last, by=by, note=note, incident=locked
    )
    subject = str(locked)
    audit.record(
        Action.INCIDENT_ACKNOWLEDGED, subject=subject, endpoint=endpoint, by=by, reason=note
    )
    return True


def _update_incident(
    profile: Profile, lane: Lane, watched_run: WatchedRun, change: WatchChange
) -> Incident | None:
    """Update and return the incident that a change opens or belongs to."""
    if change.kind is ChangeKind.OPENED:
        return _open_incident(profile, lane, watched_run, change)
    incident = _find_open_incident(profile, change.metric, lane)
    if incident is None:
        return None
    if change.kind in _END_STATES:
        _close_incident(incident, watched_run, change)
    elif change.kind in (ChangeKind.ESCALATED, ChangeKind.EASED):
        _change_severity(incident, watched_run, change)
    elif change.kind in _RELEASE_TEXTS:
        incident.release_wanted = change.kind is ChangeKind.RELEASE_WANTED
        incident.save(update_fields=["release_wanted"])
        what = f"{_english_headline(incident)}; {_RELEASE_TEXTS[change.kind]}"
        _notify(Notice.Kind.DECISION_WANTED, incident, watched_run.at, what)
    return incident


def _open_incident(
    profile: Profile, lane: Lane, watched_run: WatchedRun, change: WatchChange
) -> Incident:
    assert change.severity is not None
    incident = Incident.objects.create(
        profile=profile,
        metric=change.metric.value,
        lane=lane,
        severity=change.severity,
        worst=change.severity,
        refused=bool(change.figures.get("refused")),
        figures=dict(change.figures),
        opened_at=watched_run.at,
        opened_by=watched_run.number,
    )
    _update_modes(incident, watched_run, change)
    _notify(Notice.Kind.OPENED, incident, watched_run.at, _english_headline(incident))
    _step_back(incident)
    return incident


def _step_back(incident: Incident) -> None:
    stage_changes.step_back_after_incident(
        incident, reason=f"{_english_headline(incident)} (incident {incident.pk})"
    )


def _change_severity(incident: Incident, watched_run: WatchedRun, change: WatchChange) -> None:
    assert change.severity is not None
    is_worse = change.severity > incident.severity
    incident.severity = change.severity
    incident.worst = max(incident.worst, change.severity)
    if is_worse:
        incident.release_wanted = False
        incident.figures = {**incident.figures, **_worst_figures(change)}
    incident.save(update_fields=["severity", "worst", "release_wanted", "figures"])
    _update_modes(incident, watched_run, change)
    kind = Notice.Kind.ESCALATED if is_worse else Notice.Kind.MODE_CHANGED
    what = f"is now of severity {incident.severity}"
    _notify(kind, incident, watched_run.at, f"{_english_headline(incident)}; it {what}")
    if is_worse:
        _step_back(incident)


def _worst_figures(change: WatchChange) -> dict[str, Any]:
    """What was measured when the incident became more severe; nothing if another metric did it."""
    measured = {name: change.figures[name] for name in _MEASURED if name in change.figures}
    return {"worst": measured} if measured else {}


def _close_incident(incident: Incident, watched_run: WatchedRun, change: WatchChange) -> None:
    incident.state, incident.ended_at = _END_STATES[change.kind], watched_run.at
    incident.release_wanted = False
    incident.save(update_fields=["state", "ended_at", "release_wanted"])
    _update_modes(incident, watched_run, change)
    if change.kind is ChangeKind.RECOVERED:
        _notify(
            Notice.Kind.RECOVERED,
            incident,
            watched_run.at,
            f"{_english_headline(incident)}; it recovered",
        )


def _update_modes(incident: Incident, watched_run: WatchedRun, change: WatchChange) -> None:
    figures = {**change.figures, "run": watched_run.number}
    tighten = change.kind in (ChangeKind.OPENED, ChangeKind.ESCALATED)
    reason = _english_headline(incident)
    modes.apply_incident(
        incident, reason=reason, figures=figures, at=watched_run.at, tighten=tighten
    )


def _english_headline(incident: Incident) -> str:
    """The headline in English: rows and notices are written before their reader is known."""
    with translation.in_english():
        return incident_headline(incident)


def incident_headline(incident: Incident) -> str:
    """The incident in one sentence, in the reader's language."""
    figures, metric = incident.figures, Metric(incident.metric)
    now = _measured_rate(figures.get("worst") or figures, refused=incident.refused)
    if (limit := figures.get("limit")) is not None:
        return limit_headline(metric, limit, now)
    good, trials, _ = figures.get("baseline") or (0, 0, 0)
    return degradation_headline(metric, good / trials if trials else None, now)


def _measured_rate(figures: dict[str, Any], *, refused: bool) -> float:
    """The success rate since the change. Older rows have an estimate over three runs instead."""
    rate = figures.get("rate", None if refused else figures.get("estimate"))
    return float(rate) if rate is not None else 1 - figures["failures"] / figures["trials"]


def _notify(kind: Notice.Kind, incident: Incident, at: datetime, what: str) -> None:
    endpoint = incident.profile.endpoint
    active = sorted(incident.switches.filter(off_at=None).values_list("mode", flat=True))
    body: dict[str, Any] = {
        "title": f"{endpoint.slug}: {what}",
        "text": f"Modes on for it: {', '.join(active)}." if active else "No mode is on for it.",
        "metric": incident.metric,
        "severity": incident.severity,
        "lane": Lane(incident.lane).label.lower(),
        "release_wanted": incident.release_wanted,
        "modes": active,
        "figures": incident.figures,
    }
    outbox.put_notice(kind, endpoint=endpoint, incident=incident, body=body, at=at)


def _find_open_incident(profile: Profile, metric: Metric, lane: Lane) -> Incident | None:
    return profile.incidents.filter(metric=metric.value, lane=lane, ended_at=None).first()


def _apply_decisions(
    watch: Watch, pending: list[WatchEvent], *, before: int | None
) -> tuple[Watch, list[WatchEvent]]:
    """Apply the decisions made before a run; returns the watch and the later decisions."""
    while pending and (before is None or pending[0].after < before):
        decision, pending = pending[0], pending[1:]
        metric = Metric(decision.metric)
        if decision.kind == ACCEPTED:
            watch = watching.accept_baseline(watch, metric, Baseline(*decision.figures["baseline"]))
        else:
            watch = watching.release_alarm(watch, metric)
    return watch, pending


def _decisions(profile: Profile) -> QuerySet[WatchEvent]:
    """The decisions of people that changed the watch of the probe lane."""
    return WatchEvent.objects.filter(
        profile=profile, lane=Lane.PROBE, kind__in=[ACCEPTED, RELEASED]
    )


def _watch_row(profile: Profile, lane: Lane) -> WatchRow:
    return WatchRow.objects.get_or_create(profile=profile, lane=lane, defaults={"state": {}})[0]


def _store_watch(row: WatchRow, watch: Watch) -> None:
    row.state, row.updated_at = watch.as_json(), Now()
    row.known = watch.gauge(Metric.PARSE_SUCCESS).known(PROBE).value
    row.below_gate = [metric.value for metric in watch.below_gate()]
    row.save(update_fields=["state", "known", "below_gate", "updated_at"])


def _check_note(note: str) -> str:
    note = note.strip().replace("\0", "")
    if not note:
        raise Refused(_("Say why: others will want to know it."))
    return note[:1000]
