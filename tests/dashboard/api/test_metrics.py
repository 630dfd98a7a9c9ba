from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from dashboard.models.observation import Observation
from dashboard.runs import observations, rollups
from dashboard.runs.observations import LIVE
from health.observation_bits import pack_verdicts
from probes.outcomes import Metric, Verdict
from tests.dashboard.api.client import ApiClient, read_error
from tests.factories import make_endpoint, make_finished_run, make_run

GOOD = pack_verdicts([Verdict(Metric.PARSE_SUCCESS, good=True)])[0]


def test_a_run_shows_its_rates_with_their_intervals(api: ApiClient) -> None:
    """Numerator, denominator and interval, as health.rates has them."""
    run = make_finished_run(make_endpoint(), passed=9, failed=1)

    rate = api.get(f"/runs/{run.pk}/metrics").json()["metrics"]["parse_success"]

    assert (rate["trials"], rate["failures"], rate["rate"]) == (10, 1, 0.9)
    assert 0.5 < rate["low"] < 0.9 < rate["high"] < 1


def test_a_run_without_a_verdict_has_no_rates(api: ApiClient) -> None:
    """No data is not zero."""
    run = make_run(make_endpoint())

    assert api.get(f"/runs/{run.pk}/metrics").json() == {"metrics": {}}


def test_a_series_shows_what_was_sent_by_telemetry(api: ApiClient) -> None:
    """Live events are returned as rates of their time, separate from probes."""
    make_endpoint()
    at = timezone.now() - timedelta(hours=2)
    events = [
        {"endpoint": "steady", "at": at.isoformat(), "verdicts": {"parse_success": good}}
        for good in (True, True, True, False)
    ]
    api.post("/telemetry", {"batch_id": str(uuid4()), "events": events})
    rollups.roll_up()

    live = api.get("/endpoints/steady/metrics", metric="parse_success", lane="live").json()
    probe = api.get("/endpoints/steady/metrics", metric="parse_success").json()

    (point,) = live["points"]
    assert (point["trials"], point["failures"], point["rate"]) == (4, 1, 0.75)
    assert (point["epoch"], live["lane"], live["metric"]) == (1, "live", "parse_success")
    assert (
        timedelta(0) <= at - datetime.fromisoformat(point["at"]) < timedelta(seconds=live["step_s"])
    )
    assert probe["points"] == []


def test_a_series_keeps_to_its_span(api: ApiClient) -> None:
    """`from` and `to` limit the series."""
    profile = make_endpoint().profile
    start = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(days=2)
    times = [start + timedelta(hours=hours) for hours in (-5, 1, 5, 30)]
    rows = [Observation(profile.pk, 1, LIVE, GOOD, at) for at in times]
    observations.store_batch(rows, batch=uuid4())
    rollups.roll_up()

    span = {"from": start.isoformat(), "to": (start + timedelta(hours=10)).isoformat()}
    body = api.get("/endpoints/steady/metrics", lane="live", **span).json()

    assert sum(point["trials"] for point in body["points"]) == 2


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"metric": "bogus"}, "metric"),
        ({"lane": "bogus"}, "lane"),
        ({"from": "yesterday"}, "from"),
        ({"from": "2026-05-01T00:00:00"}, "from"),
        ({"from": "2026-05-02T00:00:00Z", "to": "2026-05-01T00:00:00Z"}, "from"),
        ({"to": "0001-01-01T00:00:00Z"}, "from"),
        ({"to": "9999-12-31T23:59:59Z"}, "from"),
    ],
    ids=str,
)
def test_a_bad_question_names_its_field(api: ApiClient, query: dict[str, str], field: str) -> None:
    """Metrics, lanes and times are validated, including extreme times."""
    make_endpoint()

    answer = api.get("/endpoints/steady/metrics", **query)

    assert answer.status_code == 422
    assert [detail["field"] for detail in read_error(answer)["errors"]] == [field]


def test_the_longest_span_is_answered(api: ApiClient) -> None:
    """Whatever the span, the number of points is bounded."""
    make_endpoint()
    long_ago = datetime(2001, 1, 1, tzinfo=UTC).isoformat()

    answer = api.get("/endpoints/steady/metrics", **{"from": long_ago})

    assert (answer.status_code, answer.json()["level"]) == (200, "day")
