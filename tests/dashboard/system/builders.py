"""Rows of a healthy system, and of broken parts of one."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import connection
from django.db.models.functions import Now

from dashboard.models import Endpoint, Pulse, Run, Worker
from dashboard.models.run import State
from dashboard.runs import pulses, workers
from tests.factories import make_endpoint, make_run

DUTIES = (pulses.BEAT, pulses.SCHEDULE, pulses.ROLL_UP, pulses.RETENTION)


def make_healthy_system() -> Endpoint:
    """One worker, all duties just done, and one endpoint with a recent run."""
    workers.record_heartbeat("host:1")
    for duty in DUTIES:
        pulses.record_pulse(duty)
    endpoint = make_endpoint()
    Endpoint.objects.update(next_due_at=Now() + timedelta(hours=6), last_finished_at=Now())
    return endpoint


def backdate_duty(duty: str, span: timedelta) -> None:
    Pulse.objects.filter(duty=duty).update(at=Now() - span)


def make_old_worker(name: str, span: timedelta) -> None:
    Worker.objects.create(name=name)
    Worker.objects.filter(name=name).update(seen_at=Now() - span)


def make_held_run(endpoint: Endpoint, *, expires_in: timedelta, **over: Any) -> Run:
    """A run that a worker holds with a lease."""
    run = make_run(
        endpoint,
        state=State.RUNNING,
        provider=endpoint.provider,
        lease_expires_at=Now() + expires_in,
        **{"slot": 1, "claims": 1, **over},
    )
    return run


def sql(statement: str, *values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
