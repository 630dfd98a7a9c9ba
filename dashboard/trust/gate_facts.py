"""Reads the facts that gates evaluate; the number of queries does not depend on the profiles.

Pages, requests and the evidence of requests all read their facts here, so that an approver sees
what the hash of a request covers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any, NamedTuple

from django.db.models.functions import Coalesce, Now, TruncDate

from dashboard.core.sql import fetch_rows
from dashboard.models import GateVersion, Incident, Profile, Watch, WatchEvent
from dashboard.models.watch import ACCEPTED, Lane
from health.client_view import ClientView, view_as_client
from health.detector import BaselineState
from health.gates import GateFacts, GateResult, Gates, TrialCounts, evaluate_gates
from health.observation_bits import PLACES
from health.stages import next_stage
from probes.adapters import adapter_for
from probes.outcomes import Metric
from probes.suite import SUITE_VERSION
from probes.target import Provider

# Only the newest runs count, so that a long history neither hides recent results nor bloats the
# evidence of a request.
MAX_RUNS = 1000
_METRICS = {place: metric for metric, place in PLACES.items()}


@dataclass(frozen=True, slots=True)
class GateResults:
    """The facts of profiles by id, with the gates that evaluate them."""

    facts: Mapping[int, GateFacts]
    gates: Gates
    version: int | None

    def result_of(self, profile: Profile) -> GateResult:
        return evaluate_gates(self.gates, self.facts[profile.pk], version=self.version)

    def is_ready(self, profile: Profile) -> bool:
        """Whether its next stage can be requested. Counts are checked first, which is cheap."""
        return self._has_enough(self.facts[profile.pk]) and self.result_of(profile).is_met

    def _has_enough(self, facts: GateFacts) -> bool:
        stage = next_stage(facts.stage)
        if stage is None:
            return False
        gate = self.gates.by_stage[stage]
        trials = facts.figures.get(Metric.PARSE_SUCCESS, TrialCounts(0, 0)).trials
        is_counted = len(facts.runs) >= gate.runs and trials >= gate.trials
        is_calm = len(facts.incidents) <= gate.open_incidents and not facts.is_stale
        return is_counted and is_calm and facts.age >= gate.age


def read_gate_results(profiles: Iterable[Profile]) -> GateResults:
    """Read the facts of these profiles and the current gates."""
    version, gates = GateVersion.current()
    return GateResults(read_gate_facts(profiles), gates, version.pk if version else None)


def read_gate_facts(profiles: Iterable[Profile]) -> dict[int, GateFacts]:
    """Read what the conditions of each next stage depend on, by the database's clock."""
    # Deduplicated: a statement would count the runs of a repeated profile twice.
    profile_ids = sorted({profile.pk for profile in profiles})
    runs = _read_run_ids(profile_ids)
    figures = _count_trials(profile_ids, _FIGURES_OF_NEWEST, _newest_runs(profile_ids))
    live, incidents = _count_live_trials(profile_ids), _read_open_incidents(profile_ids)
    watches = Watch.objects.filter(profile__in=profile_ids, lane=Lane.PROBE)
    known = dict(watches.values_list("profile", "known"))
    return {
        row.pk: GateFacts(
            stage=row.stage,
            epoch=row.epoch,
            age=row.now - row.stage_at,
            runs=runs[row.pk].all,
            full_runs=runs[row.pk].full,
            figures=figures[row.pk],
            baseline=BaselineState(known.get(row.pk, BaselineState.NONE)),
            incidents=incidents[row.pk],
            live=live[row.pk],
            is_stale=row.seen_at + 2 * row.endpoint.ttl <= row.now,
            is_budget_spent=row.endpoint.spent_out_on == row.today,
            tool_call_format=_tool_call_format(row),
            client_view=_client_view(row),
            interval=row.endpoint.ttl,
        )
        for row in _profiles_with_times(profile_ids)
    }


def read_figures(profile: Profile, runs: Sequence[int]) -> dict[Metric, TrialCounts]:
    """The trial counts of each metric over exactly these runs."""
    profile_id = profile.pk
    return _count_trials(
        [profile_id], _FIGURES_BY_ID, {"profiles": [profile_id], "runs": list(runs)}
    )[profile_id]


def finished_run_ids(profile: Profile) -> list[int]:
    """The runs of the current suite version that ended with a verdict, newest last."""
    return _read_run_ids([profile.pk])[profile.pk].all


def open_incident_ids(profile: Profile) -> list[int]:
    return _read_open_incidents([profile.pk])[profile.pk]


class _RunIds(NamedTuple):
    """The runs that count, and those of them with the full suite, by id."""

    all: list[int]
    full: list[int]


def _profiles_with_times(profile_ids: Sequence[int]) -> Any:
    """The profiles, with the times that their conditions depend on."""
    seen_at = Coalesce("verified_at", "created_at")
    today = TruncDate(Now(), tzinfo=UTC)
    profiles = Profile.objects.annotate(now=Now(), today=today, seen_at=seen_at)
    return profiles.filter(pk__in=profile_ids).select_related("endpoint")


def _newest_runs(profile_ids: Sequence[int]) -> dict[str, Any]:
    return {"profiles": list(profile_ids), "version": SUITE_VERSION, "most": MAX_RUNS}


def _read_run_ids(profile_ids: Sequence[int]) -> defaultdict[int, _RunIds]:
    run_ids: defaultdict[int, _RunIds] = defaultdict(lambda: _RunIds([], []))
    for profile_id, runs, full in fetch_rows(_RUNS, _newest_runs(profile_ids)):
        run_ids[profile_id] = _RunIds(list(runs), list(full))
    return run_ids


def _count_trials(
    profile_ids: Sequence[int], statement: str, values: Mapping[str, Any]
) -> defaultdict[int, dict[Metric, TrialCounts]]:
    """The trial counts of each metric over the runs that the statement selects.

    After a baseline reset a metric counts only the reset baseline and later runs.
    """
    resets = _baseline_resets(profile_ids)
    counts: defaultdict[int, dict[Metric, TrialCounts]] = defaultdict(dict)
    for (profile_id, metric), reset in resets.items():
        successes, trials, count = reset.figures["baseline"]
        counts[profile_id][metric] = TrialCounts(trials, trials - successes, count)
    since = {"since": [reset.pk for reset in resets.values()]}
    for profile_id, name, trials, failures, count in fetch_rows(statement, {**values, **since}):
        metric = Metric(name)
        before = counts[profile_id].get(metric, TrialCounts(0, 0, 0))
        counts[profile_id][metric] = TrialCounts(
            before.trials + trials, before.failures + failures, before.runs + count
        )
    return defaultdict(
        dict,
        {profile_id: dict(sorted(by_metric.items())) for profile_id, by_metric in counts.items()},
    )


def _baseline_resets(profile_ids: Sequence[int]) -> dict[tuple[int, Metric], WatchEvent]:
    """The latest baseline reset of each metric."""
    resets = WatchEvent.objects.filter(profile__in=profile_ids, kind=ACCEPTED, lane=Lane.PROBE)
    newest = resets.order_by("profile", "metric", "-id").distinct("profile", "metric")
    return {(reset.profile_id, Metric(reset.metric)): reset for reset in newest}


def _read_open_incidents(profile_ids: Sequence[int]) -> defaultdict[int, list[int]]:
    incidents: defaultdict[int, list[int]] = defaultdict(list)
    opened = Incident.objects.filter(profile__in=profile_ids, ended_at=None).order_by("pk")
    for profile_id, incident in opened.values_list("profile", "pk"):
        incidents[profile_id].append(incident)
    return incidents


def _count_live_trials(profile_ids: Sequence[int]) -> defaultdict[int, dict[Metric, TrialCounts]]:
    """The live trials since the current stage began, as far back as 5-minute rollups are kept."""
    counts: defaultdict[int, dict[Metric, TrialCounts]] = defaultdict(dict)
    values = {"profiles": list(profile_ids), "lane": Lane.LIVE.value}
    for profile_id, place, trials, failures, buckets in fetch_rows(_LIVE, values):
        if place in _METRICS and trials:
            counts[profile_id][_METRICS[place]] = TrialCounts(trials, failures, buckets)
    return counts


def _tool_call_format(profile: Profile) -> str | None:
    value = profile.capabilities.get("tool_call_format", {}).get("value")
    return str(value) if value not in (None, "unknown") else None


def _client_view(profile: Profile) -> ClientView:
    values = {name: field.get("value") for name, field in profile.capabilities.items()}
    return view_as_client(values, adapter_for(Provider(profile.provider)).format)


_NEWEST = """
FROM unnest(%(profiles)s::bigint[]) p (id) CROSS JOIN LATERAL (
    SELECT id, suite FROM dashboard_run
    WHERE profile_id = p.id AND state = 'finished' AND suite_version = %(version)s
    ORDER BY id DESC LIMIT %(most)s) r
"""
_BY_ID = "FROM unnest(%(profiles)s::bigint[]) p (id) CROSS JOIN unnest(%(runs)s::bigint[]) r (id)"

_RUNS = f"""
SELECT p.id, array_agg(r.id ORDER BY r.id),
    COALESCE(array_agg(r.id ORDER BY r.id) FILTER (WHERE r.suite = 'full'), '{{}}')
{_NEWEST} GROUP BY p.id
"""

_FIGURES = """
SELECT p.id, m.metric, sum(m.watched_trials), sum(m.watched_failures), count(*)
{runs} JOIN dashboard_runmetric m
    ON m.run_id = r.id AND m.profile_id = p.id AND m.watched_trials > 0
LEFT JOIN dashboard_watchevent a ON a.id = ANY(%(since)s::bigint[])
    AND a.profile_id = p.id AND a.metric = m.metric
WHERE a.id IS NULL OR m.run_id > a.after
GROUP BY p.id, m.metric
"""
_FIGURES_OF_NEWEST = _FIGURES.format(runs=_NEWEST)
_FIGURES_BY_ID = _FIGURES.format(runs=_BY_ID)

_LIVE = """
SELECT p.id, u.metric, sum(u.trials), sum(u.failures), count(*)
FROM unnest(%(profiles)s::bigint[]) k (id) JOIN dashboard_profile p ON p.id = k.id
JOIN dashboard_rollup5m u ON u.profile_id = p.id AND u.lane = %(lane)s
    AND u.bucket >= p.stage_at
GROUP BY p.id, u.metric
"""
