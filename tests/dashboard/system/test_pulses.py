"""Recurring duties: noted when done, and rare ones done by one of all who could."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dashboard.models import Pulse
from dashboard.runs import pulses

HOUR = timedelta(hours=1)


@pytest.mark.django_db
def test_a_rare_duty_falls_to_one_caller_in_each_span() -> None:
    """The first caller has it, and so has the first after the span is over."""
    turns = [pulses.claim_turn("rare", every=HOUR) for _ in range(3)]
    Pulse.objects.filter(duty="rare").update(at=Pulse.objects.get().at - HOUR)
    later = [pulses.claim_turn("rare", every=HOUR) for _ in range(2)]

    assert turns == [True, False, False]
    assert later == [True, False]


@pytest.mark.django_db
def test_noting_a_duty_again_moves_its_time() -> None:
    """One row a duty, with the time of the last."""
    pulses.record_pulse("often")
    Pulse.objects.update(at=Pulse.objects.get().at - HOUR)
    before = Pulse.objects.get().at

    pulses.record_pulse("often")

    assert Pulse.objects.get().at > before


@pytest.mark.django_db(transaction=True)
def test_a_duty_is_noted_without_a_transaction_that_could_be_left_open() -> None:
    """A worker that is cut off between two statements would hold up all others."""
    with CaptureQueriesContext(connection) as told:
        pulses.record_pulse("often")
        pulses.claim_turn("rare", every=HOUR)

    statements = [query["sql"].split()[0] for query in told.captured_queries]
    assert statements == ["INSERT", "INSERT"]
