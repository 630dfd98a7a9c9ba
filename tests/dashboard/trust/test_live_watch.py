"""Live traffic under the same detector, with less to say than the probes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dashboard.core import partitions
from dashboard.models import Endpoint, Incident, Profile, Rollup5m, WatchEvent
from dashboard.models import Watch as WatchRow
from dashboard.models.watch import Lane
from dashboard.trust import live_watch
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
    """Two in a hundred went badly before and go badly now: nothing happens but the counting."""
    known(profile, Baseline(3920, 4000, 600))
    traffic(profile, [(100, 2)] * 12)

    assert live_watch.follow_live() == 1

    assert not WatchEvent.objects.exists()
    assert WatchRow.objects.state_of(profile, Lane.LIVE).runs == 1 + 12


def test_a_collapse_of_live_traffic_alone_raises_the_mildest_alarm_and_asks_for_a_probe(
    profile: Profile,
) -> None:
    """One client's odd prompts must not disable a model for all; a probe has to look."""
    known(profile, Baseline(3960, 4000, 600))
    Endpoint.objects.update(next_due_at=datetime.now(UTC) + timedelta(hours=5))
    traffic(profile, [(100, 90)] * 4)

    live_watch.follow_live()

    incident = Incident.objects.get()
    assert (incident.lane, incident.severity, incident.metric) == (Lane.LIVE, 1, "parse_success")
    modes = set(incident.switches.values_list("mode", flat=True))
    assert modes == {"strong_validation", "no_streaming_tools"}
    due = Endpoint.objects.get()
    assert due.next_trigger == "confirm"
    assert due.next_due_at <= datetime.now(UTC)


def test_together_with_the_probes_live_traffic_may_say_how_bad_it_is(profile: Profile) -> None:
    """Where a probe has raised an alarm on the same metric, the live severity counts in full."""
    known(profile, Baseline(3960, 4000, 600))
    began = datetime.now(UTC) - timedelta(hours=2)
    alarmed = MetricState(alarm=Alarm(1, began, Severity.S1, 0.9))
    WatchRow.objects.create(
        profile=profile, state=Watch("v", 1, 1, {PARSE: alarmed}).as_json(), lane=Lane.PROBE
    )
    traffic(profile, [(100, 90)] * 4)

    live_watch.follow_live()

    assert Incident.objects.get(lane=Lane.LIVE).severity == 3


def test_few_trials_are_added_up_until_there_are_enough(profile: Profile) -> None:
    """Seven trials each: the third bucket makes twenty-one of them, which is one look."""
    known(profile, Baseline(3960, 4000, 600))
    traffic(profile, [(7, 7), (7, 7)])

    live_watch.follow_live()
    quiet = WatchRow.objects.state_of(profile, Lane.LIVE).gauge(PARSE)
    traffic(profile, [(7, 7)], ago=timedelta(minutes=10))
    live_watch.follow_live()

    assert quiet.recent == ()
    assert WatchRow.objects.state_of(profile, Lane.LIVE).gauge(PARSE).recent == ((0, 21),)


def test_following_twice_is_following_once(profile: Profile) -> None:
    """Whoever calls, however often: a bucket is looked at once."""
    known(profile, Baseline(3960, 4000, 600))
    traffic(profile, [(100, 90)] * 4)

    live_watch.follow_live()
    once = WatchRow.objects.state_of(profile, Lane.LIVE)
    told = live_watch.follow_live()

    assert told == 0
    assert WatchRow.objects.state_of(profile, Lane.LIVE) == once
    assert Incident.objects.count() == 1


def test_a_bucket_that_is_not_over_waits(profile: Profile) -> None:
    """Half a bucket would be judged with half of its trials."""
    known(profile, Baseline(3960, 4000, 600))
    traffic(profile, [(100, 90)], ago=timedelta(0))

    assert live_watch.follow_live() == 0


def test_live_traffic_learns_its_own_normal(profile: Profile) -> None:
    """Without a baseline the buckets make one, apart from that of the probes."""
    traffic(profile, [(100, 1)] * 12)

    live_watch.follow_live()

    gauge = WatchRow.objects.state_of(profile, Lane.LIVE).gauge(PARSE)
    assert (gauge.baseline.trials, gauge.baseline.successes) == (1200, 1188)
    assert gauge.known(LIVE) == "provisional"
    assert WatchRow.objects.state_of(profile).gauges == {}


def known(profile: Profile, baseline: Baseline) -> None:
    """Live traffic of the profile was watched before."""
    gauge = MetricState(baseline=baseline, reference=baseline.reference(LIVE))
    state = Watch("live", 1, 1, {PARSE: gauge}).as_json()
    WatchRow.objects.create(profile=profile, lane=Lane.LIVE, state=state)


def traffic(
    profile: Profile, buckets: list[tuple[int, int]], *, ago: timedelta = timedelta(minutes=15)
) -> None:
    """Trials and failures of five minutes each; the last bucket began so long ago."""
    # A bucket that began a quarter of an hour ago is over, and late events are in.
    last = live_bucket(datetime.now(UTC) - ago)
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


def live_bucket(at: datetime) -> datetime:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return epoch + (at - epoch) // BUCKET * BUCKET
