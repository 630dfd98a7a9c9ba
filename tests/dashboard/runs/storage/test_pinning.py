from __future__ import annotations

import pytest
import zstandard

from dashboard.models import Attempt, Evidence, Pin, PinnedEvidence
from dashboard.runs import evidence
from tests.dashboard.runs.storage.builders import call_concurrently
from tests.factories import make_attempt, make_endpoint, make_finished_run

EXCHANGE = {"exchanges": [{"label": "first"}], "findings": []}


def failed_attempt(trial: int = 1) -> Attempt:
    run = make_finished_run(make_endpoint(), failed=1)
    make_attempt(run, trial=9, evidence={"exchanges": [], "findings": []})
    return make_attempt(run, trial=trial, outcome="fail", evidence=EXCHANGE)


@pytest.mark.django_db
def test_pinned_evidence_outlives_its_month() -> None:
    """Without the partition, the exchange can still be read by the attempt and by its pin."""
    attempt = failed_attempt()

    assert evidence.pin_evidence(attempt.run, why="incident 1") == 1
    Evidence.objects.all().delete()

    assert evidence.read_evidence(attempt) == EXCHANGE
    assert evidence.read_evidence(Pin.objects.get()) == EXCHANGE


@pytest.mark.django_db
def test_evidence_without_a_pin_expires_with_its_month() -> None:
    """Evidence that was not pinned cannot be read after its partition is dropped."""
    attempt = failed_attempt()

    Evidence.objects.all().delete()

    assert evidence.read_evidence(attempt) is None


@pytest.mark.django_db
def test_a_row_that_claims_to_be_huge_is_not_read() -> None:
    """A small row that would decompress to more than the limit is refused."""
    attempt = failed_attempt()
    Evidence.objects.filter(sha256=attempt.evidence_sha256).update(
        body=zstandard.compress(b" " * (evidence.MAX_SIZE + 1))
    )

    assert evidence.read_evidence(attempt) is None


@pytest.mark.django_db
def test_passed_attempts_are_pinned_on_request() -> None:
    """A decision pins all attempts of a run, an incident only those that did not pass."""
    attempt = failed_attempt()

    assert evidence.pin_evidence(attempt.run, why="incident 1") == 1
    assert evidence.pin_evidence(attempt.run, why="rollout 2", include_passed=True) == 2

    assert PinnedEvidence.objects.count() == 2


@pytest.mark.django_db
def test_pinning_again_changes_nothing() -> None:
    """The same reason is pinned once, also after the partition is dropped."""
    attempt = failed_attempt()
    evidence.pin_evidence(attempt.run, why="incident 1")
    Evidence.objects.all().delete()

    assert evidence.pin_evidence(attempt.run, why="incident 1") == 0
    assert evidence.pin_evidence(attempt.run, why="incident 2") == 1

    assert PinnedEvidence.objects.count() == 1


@pytest.mark.django_db
def test_expired_evidence_is_not_pinned() -> None:
    """Every pin has a body."""
    attempt = failed_attempt()
    Evidence.objects.all().delete()

    assert evidence.pin_evidence(attempt.run, why="incident 1") == 0
    assert not Pin.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_concurrent_pins_are_all_kept() -> None:
    """Concurrent pins with different reasons are all stored."""
    attempt = failed_attempt()
    reasons = iter([f"incident {number}" for number in range(4)])

    pinned = call_concurrently(4, lambda: evidence.pin_evidence(attempt.run, why=next(reasons)))

    assert pinned == [1, 1, 1, 1]
    assert PinnedEvidence.objects.count() == 1
