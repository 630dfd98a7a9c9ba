"""Recurring duties: recorded when done; a rare one is done by one process."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dashboard.models import Pulse
from dashboard.runs import pulses

HOUR = timedelta(hours=1)


@pytest.mark.django_db
def test_a_rare_duty_is_done_once_per_span() -> None:
    """The first caller in a span gets the duty."""
    turns = [pulses.claim_turn("rare", every=HOUR) for _ in range(3)]
    Pulse.objects.filter(duty="rare").update(at=Pulse.objects.get().at - HOUR)
    later = [pulses.claim_turn("rare", every=HOUR) for _ in range(2)]

    assert turns == [True, False, False]
    assert later == [True, False]


@pytest.mark.django_db
def test_recording_a_duty_again_updates_its_time() -> None:
    """A duty has one row with its last time."""
    pulses.record_pulse("often")
    Pulse.objects.update(at=Pulse.objects.get().at - HOUR)
    before = Pulse.objects.get().at

    pulses.record_pulse("often")

    assert Pulse.objects.get().at > before


@pytest.mark.django_db(transaction=True)
def test_a_duty_is_recorded_in_a_single_statement() -> None:
    """A worker that dies between two statements would block the others."""
    with CaptureQueriesContext(connection) as queries:
        pulses.record_pulse("often")
        pulses.claim_turn("rare", every=HOUR)

    statements = [query["sql"].split()[0] for query in queries.captured_queries]
    assert statements == ["INSERT", "INSERT"]
