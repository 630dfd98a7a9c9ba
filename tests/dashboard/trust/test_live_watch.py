"""Live traffic under the same detector, which limits its severity."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dashboard.core import partitions
from dashboard.models import Endpoint, Incident, Profile, Rollup5m, WatchEvent
from dashboard.models import Watch as WatchRow
from dashboard.models.watch import Lane
from dashboard.trust import detection, live_watch
from dashboard.trust.gate_facts import read_gate_results
from dashboard.trust.text import figure_sentences
from health.detector import LIVE, Baseline
from health.metric_state import Alarm, MetricState
from health.observation_bits import PLACES
from health.severity import Severity
from health.watch import Watch
from probes.outcomes import Metric
from tests.factories import make_endpoint

pytestmark = pytest.mark.django_db
PARSE = Metric.PARSE_SUCCESS
BUCKET = timedelta(minutes=5)


@pytest.fixture
def profile() -> Profile:
    return make_endpoint().profile


def test_healthy_traffic_opens_nothing(profile: Profile) -> None:
    """Two failures in a hundred, as before: only the counts change."""
    store_live_baseline(profile, Baseline(3920, 4000, 600))
    store_traffic(profile, [(100, 2)] * 12)

    assert live_watch.follow_live() == 1

    assert not WatchEvent.objects.exists()
    assert WatchRow.objects.state_of(profile, Lane.LIVE).runs == 1 + 12


def test_a_collapse_of_live_traffic_alone_raises_the_mildest_alarm_and_triggers_a_probe(
    profile: Profile,
) -> None:
    """One client's odd prompts must not disable a model for all; a probe has to confirm it."""
    store_live_baseline(profile, Baseline(3960, 4000, 600))
    Endpoint.objects.update(next_due_at=datetime.now(UTC) + timedelta(hours=5))
    store_traffic(profile, [(100, 90)] * 4)

    live_watch.follow_live()

    incident = Incident.objects.get()
    assert (incident.lane, incident.severity, incident.metric) == (Lane.LIVE, 1, "parse_success")
    modes = set(incident.switches.values_list("mode", flat=True))
    assert modes == {"strong_validation", "no_streaming_tools"}
    due = Endpoint.objects.get()
    assert due.next_trigger == "confirm"
    assert due.next_due_at <= datetime.now(UTC)


def test_with_an_alarm_of_the_probes_live_severity_counts_in_full(profile: Profile) -> None:
    """Probes that raised an alarm on the same metric lift the limit."""
    store_live_baseline(profile, Baseline(3960, 4000, 600))
    began = datetime.now(UTC) - timedelta(hours=2)
    in_alarm = MetricState(alarm=Alarm(1, began, Severity.S1, 0.9))
    WatchRow.objects.create(
        profile=profile, state=Watch("v", 1, 1, {PARSE: in_alarm}).as_json(), lane=Lane.PROBE
    )
    store_traffic(profile, [(100, 90)] * 4)

    live_watch.follow_live()

    assert Incident.objects.get(lane=Lane.LIVE).severity == 3


def test_traffic_that_was_bad_from_the_start_opens_an_incident(profile: Profile) -> None:
    """Failures since the first bucket are no baseline: the absolute limit holds."""
    Endpoint.objects.update(next_due_at=datetime.now(UTC) + timedelta(hours=5))
    store_traffic(profile, [(103, 100)] * 60)

    live_watch.follow_live()

    incident = Incident.objects.get()
    headline = "Parse success: 3% in live traffic, below the limit of 80%"
    assert detection.incident_headline(incident) == headline
    assert (incident.lane, incident.severity) == (Lane.LIVE, 1)
    assert incident.switches.exists()
    assert "Compared with 80.0%, the absolute limit: no baseline is as good." in figure_sentences(
        PARSE, incident.figures
    )
    assert Endpoint.objects.get().next_trigger == "confirm"
    assert not read_gate_results([profile]).is_ready(profile)
    assert read_gate_results([profile]).facts[profile.pk].incidents == [incident.pk]
    learned = WatchRow.objects.state_of(profile, Lane.LIVE).gauge(PARSE).baseline
    assert learned.trials <= 103


def test_a_baseline_of_failures_does_not_hide_them(profile: Profile) -> None:
    """Traffic whose failures became the baseline before is compared with the limit from now on."""
    store_live_baseline(profile, Baseline(183, 6203, 600))
    store_traffic(profile, [(103, 100)] * 4)

    live_watch.follow_live()

    assert Incident.objects.get().figures["limit"] == 0.8


def test_traffic_above_the_limit_learns_a_baseline_below_perfection(profile: Profile) -> None:
    """A rate that is acceptable and not good opens nothing."""
    store_traffic(profile, [(100, 12)] * 60)

    live_watch.follow_live()

    assert not Incident.objects.exists()
    assert WatchRow.objects.state_of(profile, Lane.LIVE).gauge(PARSE).baseline.trials == 6000


def test_an_incident_of_the_limit_recovers_with_the_traffic(profile: Profile) -> None:
    """Nothing has to be reset by hand."""
    store_traffic(profile, [(100, 97)] * 10 + [(100, 5)] * 330)

    live_watch.follow_live()

    assert Incident.objects.get().state == Incident.State.RECOVERED


def test_where_probes_never_met_the_gate_live_severity_counts_in_full(profile: Profile) -> None:
    """Both lanes agree that the endpoint cannot do it."""
    poor = MetricState(baseline=Baseline(2, 60, 6))
    state = Watch("v", 1, 1, {PARSE: poor}).as_json()
    WatchRow.objects.create(profile=profile, state=state, lane=Lane.PROBE)
    store_traffic(profile, [(103, 100)] * 4)

    live_watch.follow_live()

    assert Incident.objects.get(lane=Lane.LIVE).severity == 3


def test_few_trials_are_added_up_until_there_are_enough(profile: Profile) -> None:
    """With seven trials each, the third bucket makes twenty-one, which are judged once."""
    store_live_baseline(profile, Baseline(3960, 4000, 600))
    store_traffic(profile, [(7, 7), (7, 7)])

    live_watch.follow_live()
    quiet = WatchRow.objects.state_of(profile, Lane.LIVE).gauge(PARSE)
    store_traffic(profile, [(7, 7)], ago=timedelta(minutes=10))
    live_watch.follow_live()

    assert quiet.recent == ()
    assert WatchRow.objects.state_of(profile, Lane.LIVE).gauge(PARSE).recent == ((0, 21),)


def test_following_twice_is_following_once(profile: Profile) -> None:
    """A bucket is judged once, however often the task runs."""
    store_live_baseline(profile, Baseline(3960, 4000, 600))
    store_traffic(profile, [(100, 90)] * 4)

    live_watch.follow_live()
    once = WatchRow.objects.state_of(profile, Lane.LIVE)
    followed = live_watch.follow_live()

    assert followed == 0
    assert WatchRow.objects.state_of(profile, Lane.LIVE) == once
    assert Incident.objects.count() == 1


def test_a_bucket_that_is_not_over_waits(profile: Profile) -> None:
    """Half a bucket would be judged by half of its trials."""
    store_live_baseline(profile, Baseline(3960, 4000, 600))
    store_traffic(profile, [(100, 90)], ago=timedelta(0))

    assert live_watch.follow_live() == 0


def test_live_traffic_learns_its_own_baseline(profile: Profile) -> None:
    """The buckets form a baseline, separate from that of the probes."""
    store_traffic(profile, [(100, 1)] * 12)

    live_watch.follow_live()

    gauge = WatchRow.objects.state_of(profile, Lane.LIVE).gauge(PARSE)
    assert (gauge.baseline.trials, gauge.baseline.successes) == (1200, 1188)
    assert gauge.known(LIVE) == "provisional"
    assert WatchRow.objects.state_of(profile).gauges == {}


def store_live_baseline(profile: Profile, baseline: Baseline) -> None:
    """Store a live watch with this baseline."""
    gauge = MetricState(baseline=baseline, reference=baseline.reference(LIVE))
    state = Watch("live", 1, 1, {PARSE: gauge}).as_json()
    WatchRow.objects.create(profile=profile, lane=Lane.LIVE, state=state)


def store_traffic(
    profile: Profile, buckets: list[tuple[int, int]], *, ago: timedelta = timedelta(minutes=15)
) -> None:
    """Store buckets of (trials, failures); the last one started `ago`."""
    # A bucket that started 15 minutes ago is over, and late events have arrived.
    last = bucket_start(datetime.now(UTC) - ago)
    first = last - BUCKET * len(buckets)
    partitions.ensure_months([at.date().replace(day=1) for at in (first, last)])
    rows: list[Any] = [
        Rollup5m(
            profile_id=profile.pk,
            metric=PLACES[PARSE],
            lane=Lane.LIVE,
            bucket=last - BUCKET * place,
            trials=trials,
            failures=failures,
        )
        for place, (trials, failures) in enumerate(reversed(buckets))
    ]
    Rollup5m.objects.bulk_create(rows)


def bucket_start(at: datetime) -> datetime:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return epoch + (at - epoch) // BUCKET * BUCKET
