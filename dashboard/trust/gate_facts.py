"""What the gates judge a profile by, read from rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any

from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import Coalesce, Now, TruncDate

from dashboard.models import Incident, Profile, Rollup5m, Run, RunMetric, Watch, WatchEvent
from dashboard.models.run import State
from dashboard.models.watch import ACCEPTED, Lane
from health.detector import PROBE
from health.gates import GateFacts, TrialCounts
from health.observation_bits import PLACES
from probes.outcomes import Metric
from probes.suite import SUITE_VERSION

# The newest runs alone are looked at, so that years of history neither hide the present nor
# make a request as long as themselves.
MOST_RUNS = 1000
_METRICS = {place: metric for metric, place in PLACES.items()}


def facts_of(profile: Profile) -> GateFacts:
    """All that the conditions of the profile's next stage depend on, by the database's clock."""
    row = _timed(profile)
    runs = finished_runs(row)
    return GateFacts(
        stage=row.stage,
        epoch=row.epoch,
        age=row.now - row.stage_at,
        runs=runs,
        full_runs=_full(runs),
        figures=figures(row, runs),
        baseline=Watch.objects.state_of(row).gauge(Metric.PARSE_SUCCESS).known(PROBE),
        incidents=open_incidents(row),
        live=_live(row),
        is_stale=row.seen_at + 2 * row.endpoint.ttl <= row.now,
        is_spent_out=row.endpoint.spent_out_on == row.today,
        tool_call_format=_format(row),
    )


def finished_runs(profile: Profile) -> list[int]:
    """The runs under the present suite version that ended with a verdict, the newest last."""
    found = Run.objects.filter(
        profile=profile, state=State.FINISHED, suite_version=SUITE_VERSION
    ).order_by("-id")
    return sorted(found.values_list("pk", flat=True)[:MOST_RUNS])


def figures(profile: Profile, runs: Sequence[int]) -> dict[Metric, TrialCounts]:
    """The trials of each metric over exactly these runs.

    Where somebody has accepted a new normal, that is where the metric begins: what was better
    before speaks for nothing any more.
    """
    rows = RunMetric.objects.filter(profile=profile, run__in=runs, watched_trials__gt=0)
    found = _added_up(rows)
    for name, begun in _accepted(profile).items():
        good, trials, count = begun.figures["baseline"]
        later = _added_up(rows.filter(metric=name, run_id__gt=begun.after))
        since = later.get(Metric(name), TrialCounts(0, 0, 0))
        found[Metric(name)] = TrialCounts(
            trials + since.trials, trials - good + since.failures, count + since.runs
        )
    return dict(sorted(found.items()))


def _added_up(rows: QuerySet[RunMetric]) -> dict[Metric, TrialCounts]:
    sums = rows.values("metric").annotate(
        t=Sum("watched_trials"), f=Sum("watched_failures"), count=Count("run_id")
    )
    return {Metric(row["metric"]): TrialCounts(row["t"], row["f"], row["count"]) for row in sums}


def open_incidents(profile: Profile) -> list[int]:
    opened = Incident.objects.filter(profile=profile, ended_at=None)
    return sorted(opened.values_list("pk", flat=True))


def _accepted(profile: Profile) -> Mapping[str, WatchEvent]:
    """Of each metric the last time that somebody took what it did for normal."""
    acts = WatchEvent.objects.filter(profile=profile, kind=ACCEPTED, lane=Lane.PROBE)
    newest = acts.order_by("metric", "-id").distinct("metric")
    return {act.metric: act for act in newest}


def _live(profile: Profile) -> dict[Metric, TrialCounts]:
    """The live trials since the present stage began, as far back as five minutes are kept."""
    rows = Rollup5m.objects.filter(
        profile_id=profile.pk, lane=Lane.LIVE, bucket__gte=profile.stage_at
    )
    sums = rows.values("metric").annotate(t=Sum("trials"), f=Sum("failures"), buckets=Count("*"))
    return {
        _METRICS[row["metric"]]: TrialCounts(row["t"], row["f"], row["buckets"])
        for row in sums
        if row["metric"] in _METRICS and row["t"]
    }


def _full(runs: Sequence[int]) -> list[int]:
    return sorted(Run.objects.filter(pk__in=runs, suite="full").values_list("pk", flat=True))


def _format(profile: Profile) -> str | None:
    value = profile.capabilities.get("tool_call_format", {}).get("value")
    return str(value) if value not in (None, "unknown") else None


def _timed(profile: Profile) -> Any:
    """The profile as it is now, with the times that it is judged by."""
    seen_at = Coalesce("verified_at", "created_at")
    today = TruncDate(Now(), tzinfo=UTC)
    found = Profile.objects.annotate(now=Now(), today=today, seen_at=seen_at)
    return found.select_related("endpoint").get(pk=profile.pk)
