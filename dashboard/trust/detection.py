"""What a finished run means: the watch of its profile, incidents, modes, notices.

Part of the transaction that finishes the run, under the lock on its endpoint. A run that was
followed before changes nothing, and so does one of a profile that has been superseded.
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
from dashboard.trust.incident_end import end_incident, record_act
from dashboard.trust.settle import settle
from health import translation
from health import watch as watching
from health.detector import PROBE, Baseline
from health.metric_names import degradation_headline
from health.watch import ChangeKind, MetricCount, Watch, WatchChange, WatchedRun, watch_from_json
from probes.outcomes import Metric

# Runs that make up the new normal, at most.
MOST_ACCEPTED = 40
_ENDS = {
    ChangeKind.RECOVERED: Incident.State.RECOVERED,
    ChangeKind.SUPERSEDED: Incident.State.SUPERSEDED,
}


def follow(run: Run, profile: Profile) -> Watch:
    """Let the watch of a profile see a finished run, and do what follows; returns the watch."""
    row = _row(profile, Lane.PROBE)
    before = watch_from_json(row.state)
    if profile.ended_at is not None or run.state != State.FINISHED:
        return before
    seen = seen_in(run)
    after, changes = watching.follow_run(before, seen)
    if after is before:
        return before
    _keep(row, after)
    follow_changes(profile, Lane.PROBE, seen, changes)
    if any(change.kind is ChangeKind.OPENED for change in changes):
        evidence.pin(run, why="it opened an incident")
    return after


def follow_changes(
    profile: Profile, lane: Lane, seen: WatchedRun, changes: Iterable[WatchChange]
) -> None:
    """Write down what changed, with the incidents, modes and notices that follow from it."""
    for change in changes:
        incident = _incident(profile, lane, seen, change)
        WatchEvent.objects.create(
            profile=profile,
            incident=incident,
            metric=change.metric.value,
            lane=lane,
            kind=change.kind.value,
            severity=change.severity,
            at=seen.at,
            after=seen.number,
            figures=dict(change.figures),
        )


def replay(profile: Profile) -> Watch:
    """The watch of the probe lane, from all runs and all that people did, from the beginning."""
    waiting = list(_acts(profile).order_by("id"))
    watch = Watch()
    for run in profile.runs.filter(state=State.FINISHED).order_by("id"):
        watch, waiting = _acted(watch, waiting, before=run.pk)
        watch, _ = watching.follow_run(watch, seen_in(run))
    return _acted(watch, waiting, before=None)[0]


def seen_in(run: Run) -> WatchedRun:
    """A finished run as the watch sees it."""
    assert run.finished_at is not None
    counts = {
        Metric(row.metric): MetricCount(row.watched_trials, row.watched_failures, row.refused)
        for row in RunMetric.objects.filter(run=run)
    }
    every = run.every or Endpoint.objects.get(pk=run.endpoint_id).ttl
    return WatchedRun(run.pk, run.finished_at, run.suite_version, every, counts)


@transaction.atomic
def accept(profile: Profile, metric: Metric, *, by: User | None, note: str) -> None:
    """Take what the endpoint does now for normal: the runs since its incident are the baseline."""
    endpoint = Endpoint.objects.select_for_update().get(pk=profile.endpoint_id)
    profile.refresh_from_db()
    if profile.ended_at is not None:
        raise Refused(
            _("This profile has been superseded; nothing of it can be accepted any more.")
        )
    note = _noted(note)
    row = _row(profile, Lane.PROBE)
    before = watch_from_json(row.state)
    if _acts(profile).filter(kind=ACCEPTED, metric=metric.value, after=before.last).exists():
        raise Refused(_("Somebody has accepted it meanwhile, and no run was made since."))
    incident = _open(profile, metric, Lane.PROBE)
    baseline = Baseline()
    # Runs that were judged by another format say nothing about what is normal in this one.
    if not (metric is Metric.PARSE_SUCCESS and _took_text_format(profile)):
        for run in accepted_runs(profile, metric):
            baseline = baseline.plus(run.watched_trials - run.watched_failures, run.watched_trials)
    _keep(row, watching.accept_baseline(before, metric, baseline))
    figures = {
        "baseline": [baseline.successes, baseline.trials, baseline.runs],
        "before": before.gauge(metric).as_json(),
    }
    event = record_act(profile, metric, ACCEPTED, before.last, by=by, note=note, figures=figures)
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
        what = f"{_stored(incident)}; it was accepted as normal"
        _tell(Notice.Kind.MODE_CHANGED, incident, event.at, what)
    endpoint.onboarding_left = max(endpoint.onboarding_left, settings.BASELINE_RUNS)
    endpoint.next_trigger, endpoint.next_due_at = Trigger.BASELINE, Now()
    endpoint.save(update_fields=["onboarding_left", "next_trigger", "next_due_at"])
    settle(endpoint)


def _took_text_format(profile: Profile) -> bool:
    """Take the text format that calls come in now for the profile's; False where it is that."""
    now = profile.capabilities.get("parser", {}).get("value") or ""
    if profile.text_format in (None, now):
        return False
    profile.text_format = now
    profile.save(update_fields=["text_format"])
    return True


def accepted_runs(profile: Profile, metric: Metric) -> list[RunMetric]:
    """What would be taken for normal now, newest first: runs as far apart as of any baseline."""
    rows = RunMetric.objects.filter(profile=profile, metric=metric.value, watched_trials__gt=0)
    version = WatchRow.objects.state_of(profile).suite_version
    rows = rows.filter(run__suite_version=version, run__state=State.FINISHED)
    incident = _open(profile, metric, Lane.PROBE)
    if incident is not None:
        rows = rows.filter(run_id__gte=incident.opened_by)
    found: list[RunMetric] = []
    for row in rows.order_by("-run_id").iterator(chunk_size=100):
        if not found or found[-1].finished_at - row.finished_at >= watching.MIN_BASELINE_GAP:
            found.append(row)
        if len(found) == MOST_ACCEPTED:
            break
    return found


@transaction.atomic
def release(incident: Incident, *, by: User | None, note: str) -> None:
    """Allow a most severe incident to be left, once its runs speak for it."""
    endpoint = Endpoint.objects.select_for_update(of=("self",)).get(profiles=incident.profile_id)
    incident.refresh_from_db()
    if incident.ended_at is not None:
        raise Refused(_("This incident is over."))
    note = _noted(note)
    profile, metric = incident.profile, Metric(incident.metric)
    row = _row(profile, Lane(incident.lane))
    watch = watch_from_json(row.state)
    _keep(row, watching.release_alarm(watch, metric))
    record_act(profile, metric, RELEASED, watch.last, by=by, note=note, incident=incident)
    subject = str(incident)
    audit.record(Action.INCIDENT_RELEASED, subject=subject, endpoint=endpoint, by=by, reason=note)
    incident.release_wanted = False
    incident.save(update_fields=["release_wanted"])
    # Somebody waits for it: look again soon.
    Endpoint.objects.filter(pk=endpoint.pk).update(next_due_at=Now(), next_trigger=Trigger.RECOVERY)


@transaction.atomic
def acknowledge(incident: Incident, *, by: User | None, note: str = "") -> bool:
    """Note that somebody has seen the incident; False where it was seen before."""
    mine = Incident.objects.select_for_update().get(pk=incident.pk)
    if mine.acknowledged_at is not None:
        return False
    mine.acknowledged_at, mine.acknowledged_by = Now(), by
    mine.save(update_fields=["acknowledged_at", "acknowledged_by"])
    watch = WatchRow.objects.state_of(mine.profile, Lane(mine.lane))
    metric = Metric(mine.metric)
    note, endpoint = note.strip(), mine.profile.endpoint
    record_act(mine.profile, metric, ACKNOWLEDGED, watch.last, by=by, note=note, incident=mine)
    subject = str(mine)
    audit.record(
        Action.INCIDENT_ACKNOWLEDGED, subject=subject, endpoint=endpoint, by=by, reason=note
    )
    return True


def _incident(
    profile: Profile, lane: Lane, seen: WatchedRun, change: WatchChange
) -> Incident | None:
    """The incident that a change opens or belongs to, brought up to date."""
    if change.kind is ChangeKind.OPENED:
        return _opened(profile, lane, seen, change)
    incident = _open(profile, change.metric, lane)
    if incident is None:
        return None
    if change.kind in _ENDS:
        _ended(incident, seen, change)
    elif change.kind in (ChangeKind.ESCALATED, ChangeKind.EASED):
        _graded(incident, seen, change)
    elif change.kind is ChangeKind.RELEASE_WANTED:
        incident.release_wanted = True
        incident.save(update_fields=["release_wanted"])
        _tell(Notice.Kind.DECISION_WANTED, incident, seen.at, "may be left, if somebody allows it")
    return incident


def _opened(profile: Profile, lane: Lane, seen: WatchedRun, change: WatchChange) -> Incident:
    assert change.severity is not None
    incident = Incident.objects.create(
        profile=profile,
        metric=change.metric.value,
        lane=lane,
        severity=change.severity,
        worst=change.severity,
        refused=bool(change.figures.get("refused")),
        figures=dict(change.figures),
        opened_at=seen.at,
        opened_by=seen.number,
    )
    _switch(incident, seen, change)
    _tell(Notice.Kind.OPENED, incident, seen.at, _stored(incident))
    _step_back(incident)
    return incident


def _step_back(incident: Incident) -> None:
    stage_changes.follow_incident(incident, reason=f"{_stored(incident)} (incident {incident.pk})")


def _graded(incident: Incident, seen: WatchedRun, change: WatchChange) -> None:
    assert change.severity is not None
    worse = change.severity > incident.severity
    incident.severity = change.severity
    incident.worst = max(incident.worst, change.severity)
    if worse:
        incident.release_wanted = False
    incident.save(update_fields=["severity", "worst", "release_wanted"])
    _switch(incident, seen, change)
    kind = Notice.Kind.ESCALATED if worse else Notice.Kind.MODE_CHANGED
    what = f"is now of severity {incident.severity}"
    _tell(kind, incident, seen.at, f"{_stored(incident)}; it {what}")
    if worse:
        _step_back(incident)


def _ended(incident: Incident, seen: WatchedRun, change: WatchChange) -> None:
    incident.state, incident.ended_at = _ENDS[change.kind], seen.at
    incident.release_wanted = False
    incident.save(update_fields=["state", "ended_at", "release_wanted"])
    _switch(incident, seen, change)
    if change.kind is ChangeKind.RECOVERED:
        _tell(Notice.Kind.RECOVERED, incident, seen.at, f"{_stored(incident)}; it recovered")


def _switch(incident: Incident, seen: WatchedRun, change: WatchChange) -> None:
    figures = {**change.figures, "run": seen.number}
    tighten = change.kind in (ChangeKind.OPENED, ChangeKind.ESCALATED)
    reason = _stored(incident)
    modes.follow(incident, reason=reason, figures=figures, at=seen.at, tighten=tighten)


def _stored(incident: Incident) -> str:
    """The incident in one sentence for everybody: rows and notices have no reader yet."""
    with translation.in_english():
        return headline_of(incident)


def headline_of(incident: Incident) -> str:
    """The incident in one sentence, in the reader's language."""
    figures, metric = incident.figures, Metric(incident.metric)
    good, trials, _ = figures.get("baseline") or (0, 0, 0)
    now = figures.get("estimate")
    if incident.refused or now is None:
        now = 1 - figures["failures"] / figures["trials"]
    return degradation_headline(metric, good / trials if trials else None, now)


def _tell(kind: Notice.Kind, incident: Incident, at: datetime, what: str) -> None:
    endpoint = incident.profile.endpoint
    on = sorted(incident.switches.filter(off_at=None).values_list("mode", flat=True))
    body: dict[str, Any] = {
        "title": f"{endpoint.slug}: {what}",
        "text": f"Modes on for it: {', '.join(on)}." if on else "No mode is on for it.",
        "metric": incident.metric,
        "severity": incident.severity,
        "lane": Lane(incident.lane).label.lower(),
        "modes": on,
        "figures": incident.figures,
    }
    outbox.put_notice(kind, endpoint=endpoint, incident=incident, body=body, at=at)


def _open(profile: Profile, metric: Metric, lane: Lane) -> Incident | None:
    return profile.incidents.filter(metric=metric.value, lane=lane, ended_at=None).first()


def _acted(
    watch: Watch, waiting: list[WatchEvent], *, before: int | None
) -> tuple[Watch, list[WatchEvent]]:
    """The watch after what people did before a run, and what they did later."""
    while waiting and (before is None or waiting[0].after < before):
        act, waiting = waiting[0], waiting[1:]
        metric = Metric(act.metric)
        if act.kind == ACCEPTED:
            watch = watching.accept_baseline(watch, metric, Baseline(*act.figures["baseline"]))
        else:
            watch = watching.release_alarm(watch, metric)
    return watch, waiting


def _acts(profile: Profile) -> QuerySet[WatchEvent]:
    """What people did to the watch of the probe lane."""
    return WatchEvent.objects.filter(
        profile=profile, lane=Lane.PROBE, kind__in=[ACCEPTED, RELEASED]
    )


def _row(profile: Profile, lane: Lane) -> WatchRow:
    return WatchRow.objects.get_or_create(profile=profile, lane=lane, defaults={"state": {}})[0]


def _keep(row: WatchRow, watch: Watch) -> None:
    row.state, row.updated_at = watch.as_json(), Now()
    row.known = watch.gauge(Metric.PARSE_SUCCESS).known(PROBE).value
    row.below_gate = [metric.value for metric in watch.below_gate()]
    row.save(update_fields=["state", "known", "below_gate", "updated_at"])


def _noted(note: str) -> str:
    note = note.strip().replace("\0", "")
    if not note:
        raise Refused(_("Say why: others will want to know it."))
    return note[:1000]
