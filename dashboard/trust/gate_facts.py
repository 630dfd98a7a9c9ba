"""What the gates judge profiles by, read from rows: as many queries for hundreds as for one.

Pages, requests and the evidence of requests all read their facts here, so that an approver sees
what the hash of a request binds.
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
from health.detector import BaselineState
from health.gates import GateFacts, GateResult, Gates, TrialCounts, evaluate_gates
from health.observation_bits import PLACES
from health.stages import next_stage
from probes.outcomes import Metric
from probes.suite import SUITE_VERSION

# Only the newest runs count, so that years of history neither hide the present nor make a
# request as long as themselves.
MOST_RUNS = 1000
_METRICS = {place: metric for metric, place in PLACES.items()}


@dataclass(frozen=True, slots=True)
class GateResults:
    """The facts of some profiles by their id, judged by the gates that hold."""

    facts: Mapping[int, GateFacts]
    gates: Gates
    version: int | None

    def result_of(self, profile: Profile) -> GateResult:
        return evaluate_gates(self.gates, self.facts[profile.pk], version=self.version)

    def is_ready(self, profile: Profile) -> bool:
        """Whether its next stage can be requested. Counting comes first, since it is cheap."""
        return self._has_enough(self.facts[profile.pk]) and self.result_of(profile).is_met

    def _has_enough(self, facts: GateFacts) -> bool:
        wanted = next_stage(facts.stage)
        if wanted is None:
            return False
        gate = self.gates.by_stage[wanted]
        tried = facts.figures.get(Metric.PARSE_SUCCESS, TrialCounts(0, 0)).trials
        is_counted = len(facts.runs) >= gate.runs and tried >= gate.trials
        is_calm = len(facts.incidents) <= gate.open_incidents and not facts.is_stale
        return is_counted and is_calm and facts.age >= gate.age


def gate_results(profiles: Iterable[Profile]) -> GateResults:
    """Read what these profiles are judged by, and the gates that hold now."""
    version, held = GateVersion.current()
    return GateResults(facts_of(profiles), held, version.pk if version else None)


def facts_of(profiles: Iterable[Profile]) -> dict[int, GateFacts]:
    """All that the conditions of each profile's next stage depend on, by the database's clock."""
    # Each once: a statement would count the runs of a repeated profile twice.
    keys = sorted({profile.pk for profile in profiles})
    runs = _runs_of(keys)
    figures = _figures_of(keys, _FIGURES_OF_NEWEST, _newest(keys))
    live, incidents = _live_of(keys), _incidents_of(keys)
    watches = Watch.objects.filter(profile__in=keys, lane=Lane.PROBE)
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
            tool_call_format=_format(row),
        )
        for row in _timed(keys)
    }


def figures_of(profile: Profile, runs: Sequence[int]) -> dict[Metric, TrialCounts]:
    """The trials of each metric over exactly these runs."""
    key = profile.pk
    return _figures_of([key], _FIGURES_OF_GIVEN, {"profiles": [key], "runs": list(runs)})[key]


def finished_runs(profile: Profile) -> list[int]:
    """The runs under the present suite version that ended with a verdict, the newest last."""
    return _runs_of([profile.pk])[profile.pk].all


def open_incidents(profile: Profile) -> list[int]:
    return _incidents_of([profile.pk])[profile.pk]


class _Runs(NamedTuple):
    """The runs that count, and those of them with the full suite."""

    all: list[int]
    full: list[int]


def _timed(keys: Sequence[int]) -> Any:
    """The profiles as they are now, with the times that they are judged by."""
    seen_at = Coalesce("verified_at", "created_at")
    today = TruncDate(Now(), tzinfo=UTC)
    found = Profile.objects.annotate(now=Now(), today=today, seen_at=seen_at)
    return found.filter(pk__in=keys).select_related("endpoint")


def _newest(keys: Sequence[int]) -> dict[str, Any]:
    return {"profiles": list(keys), "version": SUITE_VERSION, "most": MOST_RUNS}


def _runs_of(keys: Sequence[int]) -> defaultdict[int, _Runs]:
    found: defaultdict[int, _Runs] = defaultdict(lambda: _Runs([], []))
    for key, runs, full in fetch_rows(_RUNS, _newest(keys)):
        found[key] = _Runs(list(runs), list(full))
    return found


def _figures_of(
    keys: Sequence[int], statement: str, values: Mapping[str, Any]
) -> defaultdict[int, dict[Metric, TrialCounts]]:
    """The trials of each metric over the runs that the statement reads.

    A metric whose new normal was accepted begins there: what was better before counts for nothing.
    """
    accepted = _accepted(keys)
    found: defaultdict[int, dict[Metric, TrialCounts]] = defaultdict(dict)
    for (key, metric), act in accepted.items():
        good, trials, count = act.figures["baseline"]
        found[key][metric] = TrialCounts(trials, trials - good, count)
    begun = {"since": [act.pk for act in accepted.values()]}
    for key, name, trials, failures, count in fetch_rows(statement, {**values, **begun}):
        metric = Metric(name)
        before = found[key].get(metric, TrialCounts(0, 0, 0))
        found[key][metric] = TrialCounts(
            before.trials + trials, before.failures + failures, before.runs + count
        )
    return defaultdict(dict, {key: dict(sorted(each.items())) for key, each in found.items()})


def _accepted(keys: Sequence[int]) -> dict[tuple[int, Metric], WatchEvent]:
    """The last time that the behaviour of each metric was accepted as normal."""
    acts = WatchEvent.objects.filter(profile__in=keys, kind=ACCEPTED, lane=Lane.PROBE)
    newest = acts.order_by("profile", "metric", "-id").distinct("profile", "metric")
    return {(act.profile_id, Metric(act.metric)): act for act in newest}


def _incidents_of(keys: Sequence[int]) -> defaultdict[int, list[int]]:
    found: defaultdict[int, list[int]] = defaultdict(list)
    opened = Incident.objects.filter(profile__in=keys, ended_at=None).order_by("pk")
    for key, incident in opened.values_list("profile", "pk"):
        found[key].append(incident)
    return found


def _live_of(keys: Sequence[int]) -> defaultdict[int, dict[Metric, TrialCounts]]:
    """The live trials since the present stage began, as far back as five minutes are kept."""
    found: defaultdict[int, dict[Metric, TrialCounts]] = defaultdict(dict)
    values = {"profiles": list(keys), "lane": Lane.LIVE.value}
    for key, place, trials, failures, buckets in fetch_rows(_LIVE, values):
        if place in _METRICS and trials:
            found[key][_METRICS[place]] = TrialCounts(trials, failures, buckets)
    return found


def _format(profile: Profile) -> str | None:
    value = profile.capabilities.get("tool_call_format", {}).get("value")
    return str(value) if value not in (None, "unknown") else None


_NEWEST = """
FROM unnest(%(profiles)s::bigint[]) p (id) CROSS JOIN LATERAL (
    SELECT id, suite FROM dashboard_run
    WHERE profile_id = p.id AND state = 'finished' AND suite_version = %(version)s
    ORDER BY id DESC LIMIT %(most)s) r
"""
_GIVEN = "FROM unnest(%(profiles)s::bigint[]) p (id) CROSS JOIN unnest(%(runs)s::bigint[]) r (id)"

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
_FIGURES_OF_GIVEN = _FIGURES.format(runs=_GIVEN)

_LIVE = """
SELECT p.id, u.metric, sum(u.trials), sum(u.failures), count(*)
FROM unnest(%(profiles)s::bigint[]) k (id) JOIN dashboard_profile p ON p.id = k.id
JOIN dashboard_rollup5m u ON u.profile_id = p.id AND u.lane = %(lane)s
    AND u.bucket >= p.stage_at
GROUP BY p.id, u.metric
"""
