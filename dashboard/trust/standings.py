"""Where many profiles stand: as many queries for hundreds of them as for one.

dashboard.trust.gate_facts reads the same facts of a single profile; a test holds the two together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from django.db.models.functions import Coalesce, Now, TruncDate

from dashboard.core.sql import fetch_rows
from dashboard.models import GateVersion, Incident, Profile, WatchEvent
from dashboard.models import Watch as WatchRow
from dashboard.models.watch import ACCEPTED, Lane
from dashboard.trust import gate_facts
from health.detector import BaselineState
from health.gates import GateFacts, GateResult, Gates, TrialCounts, evaluate_gates
from health.observation_bits import PLACES
from health.stages import next_stage
from probes.outcomes import Metric
from probes.suite import SUITE_VERSION

_METRICS = {place: metric for metric, place in PLACES.items()}


@dataclass(frozen=True, slots=True)
class Standings:
    """The facts of some profiles by their id; a standing is worked out when it is asked for."""

    facts: Mapping[int, GateFacts]
    gates: Gates
    version: int | None

    def of(self, profile: Profile) -> GateResult:
        return evaluate_gates(self.gates, self.facts[profile.pk], version=self.version)

    def is_ready(self, profile: Profile) -> bool:
        """Whether its next stage may be asked for. Counting comes first, since it costs nothing."""
        return self._has_enough(self.facts[profile.pk]) and self.of(profile).may_be_asked

    def _has_enough(self, facts: GateFacts) -> bool:
        wanted = next_stage(facts.stage)
        if wanted is None:
            return False
        gate = self.gates.of[wanted]
        tried = facts.figures.get(Metric.PARSE_SUCCESS, TrialCounts(0, 0)).trials
        is_counted = len(facts.runs) >= gate.runs and tried >= gate.trials
        is_calm = len(facts.incidents) <= gate.open_incidents and not facts.is_stale
        return is_counted and is_calm and facts.age >= gate.age


def read(profiles: Sequence[Profile]) -> Standings:
    """Where these profiles stand under the gates that hold now."""
    version, now = GateVersion.current()
    return Standings(_facts(profiles), now, version.pk if version else None)


def _facts(profiles: Sequence[Profile]) -> dict[int, GateFacts]:
    keys = [profile.pk for profile in profiles]
    accepted = set(
        WatchEvent.objects.filter(profile__in=keys, kind=ACCEPTED).values_list("profile", flat=True)
    )
    read = _Read(keys)
    return {
        # Where somebody accepted a new normal the figures begin there, which is rare.
        profile.pk: gate_facts.facts_of(profile) if profile.pk in accepted else read.facts(profile)
        for profile in profiles
    }


class _Read:
    """What the conditions are judged by, read for all profiles at once."""

    def __init__(self, keys: list[int]) -> None:
        self.timed: Mapping[int, Any] = {
            row.pk: row for row in _TIMED.filter(pk__in=keys).select_related("endpoint")
        }
        wanted = {"profiles": keys, "version": SUITE_VERSION, "most": gate_facts.MOST_RUNS}
        self.runs = {pk: (list(ids), list(full)) for pk, ids, full in fetch_rows(_RUNS, wanted)}
        self.figures: dict[int, dict[Metric, TrialCounts]] = defaultdict(dict)
        for pk, name, trials, failures, runs in fetch_rows(_FIGURES, wanted):
            self.figures[pk][Metric(name)] = TrialCounts(trials, failures, runs)
        self.live = _live(keys)
        self.opened: dict[int, list[int]] = defaultdict(list)
        opened = Incident.objects.filter(profile__in=keys, ended_at=None).order_by("pk")
        for pk, incident in opened.values_list("profile", "pk"):
            self.opened[pk].append(incident)
        watches = WatchRow.objects.filter(profile__in=keys, lane=Lane.PROBE)
        self.known = dict(watches.values_list("profile", "known"))

    def facts(self, profile: Profile) -> GateFacts:
        key, row = profile.pk, self.timed[profile.pk]
        runs, full = self.runs.get(key, ([], []))
        return GateFacts(
            stage=row.stage,
            epoch=row.epoch,
            age=row.now - row.stage_at,
            runs=runs,
            full_runs=full,
            figures=dict(sorted(self.figures[key].items())),
            baseline=BaselineState(self.known.get(key, BaselineState.NONE)),
            incidents=self.opened[key],
            live=self.live[key],
            is_stale=row.seen_at + 2 * row.endpoint.ttl <= row.now,
            is_spent_out=row.endpoint.spent_out_on == row.today,
            tool_call_format=_format(row),
        )


def _live(keys: list[int]) -> dict[int, dict[Metric, TrialCounts]]:
    """The live trials of each since its present stage began."""
    found: dict[int, dict[Metric, TrialCounts]] = defaultdict(dict)
    for pk, place, trials, failures, buckets in fetch_rows(
        _LIVE, {"profiles": keys, "lane": Lane.LIVE.value}
    ):
        if place in _METRICS and trials:
            found[pk][_METRICS[place]] = TrialCounts(trials, failures, buckets)
    return found


def _format(profile: Profile) -> str | None:
    value = profile.capabilities.get("tool_call_format", {}).get("value")
    return str(value) if value not in (None, "unknown") else None


_TIMED = Profile.objects.annotate(
    now=Now(), today=TruncDate(Now(), tzinfo=UTC), seen_at=Coalesce("verified_at", "created_at")
)
_NEWEST = """
FROM unnest(%(profiles)s::bigint[]) p (id) CROSS JOIN LATERAL (
    SELECT id, suite FROM dashboard_run
    WHERE profile_id = p.id AND state = 'finished' AND suite_version = %(version)s
    ORDER BY id DESC LIMIT %(most)s) r
"""
_RUNS = f"""
SELECT p.id, array_agg(r.id ORDER BY r.id),
    COALESCE(array_agg(r.id ORDER BY r.id) FILTER (WHERE r.suite = 'full'), '{{}}')
{_NEWEST} GROUP BY p.id
"""
_FIGURES = f"""
SELECT p.id, m.metric, sum(m.watched_trials), sum(m.watched_failures), count(*)
{_NEWEST} JOIN dashboard_runmetric m ON m.run_id = r.id AND m.watched_trials > 0
GROUP BY p.id, m.metric
"""
_LIVE = """
SELECT p.id, u.metric, sum(u.trials), sum(u.failures), count(*)
FROM unnest(%(profiles)s::bigint[]) k (id) JOIN dashboard_profile p ON p.id = k.id
JOIN dashboard_rollup5m u ON u.profile_id = p.id AND u.lane = %(lane)s
    AND u.bucket >= p.stage_at
GROUP BY p.id, u.metric
"""
