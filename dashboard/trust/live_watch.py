"""The live lane: every five minutes of real traffic are a run of the same detector.

One client's odd prompts must not disable a model for all, so live traffic alone raises only the
mildest alarm and requests a probe at once. Where probes have raised an alarm on the same metric,
or never met its gate, its severity counts in full. Buckets with few trials are added up until
there are enough. Traffic that was bad from the start has no good baseline to fall from, so it is
compared with the absolute gates.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models.functions import Least, Now

from dashboard.core.sql import fetch_rows, set_idle_timeout
from dashboard.models import Endpoint, Profile
from dashboard.models import Watch as WatchRow
from dashboard.models.run import Trigger
from dashboard.models.watch import Lane
from dashboard.trust import detection
from dashboard.trust.settle import settle
from health import detector
from health import watch as watching
from health.modes import WATCHED
from health.observation_bits import PLACES
from health.severity import Severity
from health.watch import ChangeKind, MetricCount, WatchChange, WatchedRun, watch_from_json
from probes.outcomes import Metric

BUCKET = timedelta(minutes=5)
# Fewer trials than this are added to the next bucket.
MIN_TRIALS = 20
# Observations that arrive later than this are charted but not watched.
LATENESS = timedelta(minutes=2)
# A profile that was not followed for longer starts from here.
LOOK_BACK = timedelta(days=2)
_METRICS = {PLACES[metric]: metric for metric in WATCHED}
SUITE = "live"


def follow_live() -> int:
    """Follow live traffic since the last call; returns how many profiles had any."""
    values = {
        "places": list(_METRICS),
        "bucket": BUCKET,
        "late": LATENESS,
        "back": LOOK_BACK,
        "live": Lane.LIVE.value,
    }
    profiles = [profile_id for (profile_id,) in fetch_rows(_PROFILES, values)]
    for profile_id in profiles:
        _follow_profile(profile_id, values)
    return len(profiles)


@transaction.atomic
def _follow_profile(profile_id: int, values: dict[str, Any]) -> None:
    set_idle_timeout()
    profile = Profile.objects.get(pk=profile_id)
    endpoint = Endpoint.objects.select_for_update().get(pk=profile.endpoint_id)
    profile.refresh_from_db()
    if profile.ended_at is not None:
        return
    row = WatchRow.objects.get_or_create(profile=profile, lane=Lane.LIVE)[0]
    watch, pending = watch_from_json(row.state), _Pending(row.pending)
    needs_probe = False
    for bucket, counts in _buckets(profile_id, watch.last, values).items():
        watched_run = _watched_run(bucket, pending.with_counts(counts), profile)
        watch, changes = watching.follow_run(watch, watched_run, detector.LIVE)
        detection.apply_changes(profile, Lane.LIVE, watched_run, changes)
        needs_probe = needs_probe or _needs_probe(changes)
    row.state, row.pending = watch.as_json(), pending.as_json()
    row.updated_at = Now()
    row.save(update_fields=["state", "pending", "updated_at"])
    if needs_probe:
        Endpoint.objects.filter(pk=endpoint.pk).update(
            next_due_at=Least("next_due_at", Now()), next_trigger=Trigger.CONFIRM
        )
    settle(endpoint)


def _watched_run(bucket: int, counts: dict[Metric, MetricCount], profile: Profile) -> WatchedRun:
    probes = WatchRow.objects.state_of(profile)
    confirmed = {*probes.alarms, *probes.below_gate()}
    max_severities = {m: Severity.S3 if m in confirmed else Severity.S1 for m in WATCHED}
    at = datetime.fromtimestamp(bucket, UTC) + BUCKET
    return WatchedRun(bucket, at, SUITE, BUCKET, counts, max_severities)


def _needs_probe(changes: list[WatchChange]) -> bool:
    return any(change.kind in (ChangeKind.WARNED, ChangeKind.OPENED) for change in changes)


def _buckets(
    profile_id: int, since: int, values: dict[str, Any]
) -> dict[int, dict[Metric, MetricCount]]:
    """Trials and failures by bucket, oldest first."""
    buckets: defaultdict[int, dict[Metric, MetricCount]] = defaultdict(dict)
    parameters = {**values, "profile": profile_id, "since": since}
    for bucket, metric, trials, failures in fetch_rows(_BUCKETS, parameters):
        buckets[int(bucket.timestamp())][_METRICS[metric]] = MetricCount(trials, failures)
    return buckets


class _Pending:
    """Counts of metrics that had too few trials so far."""

    def __init__(self, stored: dict[str, list[int]]) -> None:
        self._counts = {Metric(name): MetricCount(*count) for name, count in stored.items()}

    def with_counts(self, counts: dict[Metric, MetricCount]) -> dict[Metric, MetricCount]:
        """Add up the counts; returns metrics with enough trials, the others stay pending."""
        enough = {}
        for metric, count in counts.items():
            pending = self._counts.pop(metric, MetricCount(0, 0))
            total = MetricCount(pending.trials + count.trials, pending.failures + count.failures)
            if total.trials >= MIN_TRIALS:
                enough[metric] = total
            else:
                self._counts[metric] = total
        return enough

    def as_json(self) -> dict[str, list[int]]:
        return {m.value: [count.trials, count.failures] for m, count in self._counts.items()}


_SINCE = """GREATEST(to_timestamp({since}) + interval '1 second',
    date_bin(%(bucket)s, statement_timestamp() - %(back)s, 'epoch'))"""
_UNTIL = "statement_timestamp() - %(bucket)s - %(late)s"

_PROFILES = f"""
SELECT p.id FROM dashboard_profile p
JOIN dashboard_endpoint e ON e.id = p.endpoint_id AND e.removed_at IS NULL
LEFT JOIN dashboard_watch w ON w.profile_id = p.id AND w.lane = %(live)s
WHERE p.ended_at IS NULL AND EXISTS (
    SELECT 1 FROM unnest(%(places)s::smallint[]) place
    JOIN dashboard_rollup5m r ON r.profile_id = p.id AND r.metric = place AND r.lane = %(live)s
        AND r.bucket >= {_SINCE.format(since="COALESCE((w.state ->> 'last')::bigint, 0)")}
        AND r.bucket <= {_UNTIL})
ORDER BY p.id
"""  # noqa: S608 -- statements of our own

_BUCKETS = f"""
SELECT bucket, metric, trials, failures FROM dashboard_rollup5m
WHERE profile_id = %(profile)s AND metric = ANY(%(places)s::smallint[]) AND lane = %(live)s
    AND bucket >= {_SINCE.format(since="%(since)s")} AND bucket <= {_UNTIL}
ORDER BY bucket, metric
"""  # noqa: S608 -- statements of our own
