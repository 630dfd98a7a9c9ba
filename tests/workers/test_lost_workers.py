"""Runs survive the loss of workers and of the broker, with real Celery processes and SIGKILL."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection

from dashboard.endpoints.services import endpoints
from dashboard.models import Attempt, Endpoint, Run, RunMetric
from dashboard.runs import services as runs
from health.observation_bits import pack_verdicts
from probes.outcomes import Metric, Verdict
from tests.live import broker, celery_worker, eventually
from workers.probing import run_scheduler_pass

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def empty_broker() -> None:
    broker().flushdb()


def register(vendor_url: str, count: int = 1) -> list[Endpoint]:
    return [
        endpoints.create(
            slug=f"e{number}",
            provider="openai",
            base_url=f"{vendor_url}/open/v1",
            model="sim-steady",
            options={},
            ttl=timedelta(hours=6),
            max_concurrency=1,
            enabled=True,
            key=None,
        )
        for number in range(count)
    ]


def all_finished() -> bool:
    states = list(Run.objects.values_list("state", flat=True))
    return bool(states) and set(states) == {"finished"}


def _verdicts(attempt: Attempt) -> list[Verdict]:
    return [Verdict(Metric(metric), good) for metric, good, *_ in attempt.verdicts]


def observation_count() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM dashboard_observation")
        return int(cursor.fetchone()[0])


def test_a_run_whose_worker_is_killed_is_finished_by_another_once(
    vendor_url: str, tmp_path: Path
) -> None:
    """SIGKILL in the middle of a run loses no attempt and duplicates none."""
    register(vendor_url)
    with celery_worker(tmp_path / "first.log") as first:
        eventually(lambda: Attempt.objects.count() >= 3)
        first.kill()
    stored = Attempt.objects.count()
    run = Run.objects.get()
    assert run.state == "running"
    assert stored < run.planned

    with celery_worker(tmp_path / "second.log"):
        eventually(all_finished)

    run.refresh_from_db()
    tokens = list(Attempt.objects.order_by("token").values_list("token", flat=True))
    assert run.claims == 2
    assert run.passed == run.planned == len(tokens)
    assert tokens.count(tokens[0]) == stored
    assert len(set(tokens)) == 2
    verdicts = [_verdicts(attempt) for attempt in Attempt.objects.all()]
    expected_trials = sum(
        verdict.metric is Metric.PARSE_SUCCESS for each in verdicts for verdict in each
    )
    assert RunMetric.objects.get(metric="parse_success").trials == expected_trials
    assert observation_count() == sum(len(pack_verdicts(each)) for each in verdicts)
    assert Run.objects.count() == 1


def test_runs_are_executed_after_the_broker_was_flushed(vendor_url: str, tmp_path: Path) -> None:
    """After Redis is flushed, every due run is still executed once."""
    register(vendor_url, count=3)
    run_scheduler_pass()
    assert broker().llen("celery") == 3
    broker().flushdb()

    with celery_worker(tmp_path / "worker.log", concurrency=2):
        eventually(all_finished)

    assert Run.objects.count() == 3
    assert Attempt.objects.count() == sum(run.planned for run in Run.objects.all())


def test_runs_are_executed_without_a_broker(vendor_url: str, tmp_path: Path) -> None:
    """Without Redis, the timer of a worker finds and executes due runs."""
    register(vendor_url, count=2)

    with celery_worker(tmp_path / "worker.log", REDIS_URL="redis://127.0.0.1:1/0"):
        eventually(all_finished)

    assert Run.objects.count() == 2


def test_a_cancelled_run_stops_the_worker_at_its_next_write(
    vendor_url: str, tmp_path: Path
) -> None:
    """After a cancel the worker does not run the rest of the suite."""
    register(vendor_url)
    with celery_worker(tmp_path / "worker.log"):
        eventually(lambda: Attempt.objects.count() >= 2)
        assert runs.cancel_run(Run.objects.get(), by="ann")
        eventually(lambda: "lease lost" in (tmp_path / "worker.log").read_text())

    assert Run.objects.get().state == "abandoned"
    assert Attempt.objects.count() < Run.objects.get().planned
