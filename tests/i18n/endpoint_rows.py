"""Endpoints in every state that their pages distinguish."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.utils import timezone

from dashboard.charts import services as notes
from dashboard.models import (
    Applied,
    Endpoint,
    EndpointEdit,
    FingerprintChange,
    Incident,
    Profile,
    Run,
    Spend,
)
from dashboard.trust import detection
from probes.outcomes import Metric
from probes.secret import Secret
from tests.dashboard.incidents.builders import degrade, watch_run
from tests.dashboard.policy.builders import make_trusted_endpoint, resolve_policy
from tests.factories import make_endpoint, make_finished_run

OTHERS = ("idle-one", "spent-one", "fresh-one", "weak-one", "calm-one", "full-one", "gone-one")


def make_other_endpoints(person: User) -> list[Incident]:
    """Create endpoints in other states; returns the ended incidents."""
    make_endpoint(slug="idle-one", model="zeta-1", enabled=False, key=None)
    priced = {"price_input": Decimal(1), "price_output": Decimal(2), "currency": "USD"}
    spent = make_endpoint(
        slug="spent-one",
        model="zeta-1",
        daily_requests=1,
        daily_tokens=1,
        tags=["zeta-1"],
        **priced,
    )
    Spend.objects.create(endpoint=spent, day=timezone.now().date(), requests=1, tokens=1)
    make_endpoint(slug="fresh-one", model="zeta-1", key=Secret("zeta-1"))
    _make_weak_endpoint()
    make_trusted_endpoint(slug="full-one", model="zeta-1", provider="ollama")
    _make_stepped_back_endpoint()
    return [*_make_recovered_endpoints(person)]


def record_changes(endpoint: Endpoint, run: Run, person: User) -> None:
    """Record changes of the endpoint and of its settings, before the run."""
    for fact, before in (("server", "zeta-1"), ("model", ""), ("chat_template_hash", "zeta-1")):
        FingerprintChange.objects.create(
            profile=run.profile, run=run, fact=fact, before=before, after="steady-one", at=Now()
        )
    changed = [["model", "zeta-1", "steady-one"], ["key", "", "given"], ["key", "given", ""]]
    for by in (person, None):
        EndpointEdit.objects.create(endpoint=endpoint, changes=changed, by=by)
    Applied.objects.create(endpoint=endpoint, fields={"model": "steady-two"}, by=person)
    notes.add_note(endpoint, at=None, text="zeta-1", link="https://zeta-1/x", by=person)


def _make_weak_endpoint() -> None:
    """Below the gate from the start."""
    weak = make_endpoint(slug="weak-one", model="zeta-1")
    at = timezone.now() - timedelta(days=1)
    for hours in range(8):
        watch_run(weak, 9, at=at + timedelta(hours=hours))


def _make_stepped_back_endpoint() -> None:
    endpoint = make_endpoint(slug="gone-one", model="zeta-1")
    make_finished_run(endpoint, at=timezone.now() - timedelta(days=9))
    Profile.objects.filter(endpoint=endpoint).update(
        stage="rolled_back", verified_at="2026-01-01T00:00Z"
    )
    resolve_policy(endpoint)


def _make_recovered_endpoints(person: User) -> list[Incident]:
    """Incidents with each kind of end."""
    calm = make_endpoint(slug="calm-one", model="zeta-1")
    incident = degrade(calm)
    detection.acknowledge_incident(incident, by=person, note="zeta-1")
    detection.accept_baseline(calm.profile, Metric.PARSE_SUCCESS, by=person, note="zeta-1")
    incident.refresh_from_db()
    other = make_endpoint(slug="well-one", model="zeta-1")
    recovered = degrade(other)
    at = timezone.now() - timedelta(days=1)
    for hours in range(12):
        watch_run(other, 0, at=at + timedelta(hours=hours), trigger="recovery")
    recovered.refresh_from_db()
    return [incident, recovered]
