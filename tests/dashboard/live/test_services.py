from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from dashboard.live.services import store_exchanges
from dashboard.models import Profile
from health.observation_bits import pack_verdicts, unpack_verdicts
from probes.outcomes import Metric, Verdict
from tests.dashboard.api.test_telemetry import stored
from tests.factories import make_endpoint

pytestmark = pytest.mark.django_db(transaction=True)

FIGURES = {"latency_ms": 812, "first_byte_ms": 240, "input_tokens": 210, "output_tokens": 38}


def exchange(profile: Profile, *verdicts: Verdict, **over: Any) -> dict[str, Any]:
    return {
        "id": str(uuid4()),
        "at": timezone.now().isoformat(),
        "profile": profile.pk,
        "epoch": profile.epoch,
        "policy": 7,
        "token": 3,
        "status": 200,
        "end": "tool_calls",
        "verdicts": pack_verdicts(verdicts),
        **FIGURES,
        **over,
    }


def test_an_exchange_is_an_observation_of_live_traffic() -> None:
    """Metrics with several trials take several rows; its figures are in the first alone."""
    profile = make_endpoint().profile
    good = Verdict(Metric.SCHEMA_FAILURE, good=True)
    seen = [good, Verdict(Metric.PARSE_SUCCESS, good=True), good]

    assert store_exchanges(uuid4(), [exchange(profile, *seen)])

    rows = stored("verdicts", "lane", "latency_ms", "http_status", "end_reason", "client_id")
    assert [row[1:] for row in rows] == [(1, 812, 200, 1, 3), (1, None, None, None, 3)]
    counted = [verdict for row in rows for verdict in unpack_verdicts(row[0])]
    assert sorted(counted, key=str) == sorted(seen, key=str)


def test_a_batch_is_stored_once() -> None:
    """A file of the spool that is shipped again adds nothing."""
    profile = make_endpoint().profile
    batch, events = uuid4(), [exchange(profile), exchange(profile)]

    assert [store_exchanges(batch, events) for _ in range(2)] == [True, False]
    assert len(stored("lane")) == 2


def test_an_exchange_of_a_profile_that_is_gone_is_left_out() -> None:
    profile = make_endpoint().profile
    gone = exchange(profile) | {"profile": profile.pk + 1}
    store_exchanges(uuid4(), [exchange(profile), gone])

    assert len(stored("lane")) == 1
