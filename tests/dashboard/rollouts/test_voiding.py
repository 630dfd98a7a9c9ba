"""A request is bound to its evidence: a change before the decision voids it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from dashboard.core.errors import Refused
from dashboard.endpoints.services import endpoints
from dashboard.models import (
    AuditEntry,
    Endpoint,
    GateVersion,
    Profile,
    RolloutRequest,
    Run,
    RunMetric,
)
from dashboard.trust import detection, gates, modes, rollout_requests
from dashboard.trust.gate_facts import read_gate_facts
from health.gates import DEFAULTS, Gates
from health.modes import Mode
from probes.outcomes import Metric
from probes.suite import SUITE_VERSION
from tests.dashboard.rollouts.builders import (
    audit_actions,
    degrade,
    make_ready_endpoint,
    measure,
    missing_conditions,
    notice_kinds,
    other_gates,
    read_stage,
)

pytestmark = pytest.mark.django_db


def change_capability(endpoint: Endpoint) -> None:
    capabilities = endpoint.profile.capabilities
    Profile.objects.update(
        capabilities={**capabilities, "parser": {"value": "hermes", "trials": 3}}
    )


def add_bad_runs(endpoint: Endpoint) -> None:
    for _ in range(4):
        measure(endpoint, failures=40)


# Not made by a service: detected when the decision is made.
UNANNOUNCED: dict[str, tuple[Callable[[Endpoint], object], str]] = {
    "a tampered figure": (
        lambda e: RunMetric.objects.filter(metric="parse_success").update(watched_failures=1),
        "figures.parse_success",
    ),
    "a run that was taken away": (
        lambda e: Run.objects.update(state="failed"),
        "runs",
    ),
    "evidence that was written over": (
        lambda e: RolloutRequest.objects.update(evidence={}),
        "evidence",
    ),
    "another capability": (change_capability, "capabilities.parser"),
    "another template": (
        lambda e: Profile.objects.update(chat_template_hash="f" * 64),
        "key.chat_template_hash",
    ),
    "gates by hand": (
        lambda e: GateVersion.objects.create(body=other_gates(runs=0), reason="quietly"),
        "gates",
    ),
    "another stage": (lambda e: Profile.objects.update(stage="rejected"), "stage"),
    "later runs that went badly": (add_bad_runs, "condition.rate.parse_success"),
    "a verdict that became too old": (
        lambda e: Profile.objects.update(verified_at=Now() - 3 * e.ttl),
        "modes.effective",
    ),
    "a budget that is spent": (
        lambda e: Endpoint.objects.update(spent_out_on=Now()),
        "condition.budget",
    ),
}


@pytest.mark.parametrize(("change", "part"), UNANNOUNCED.values(), ids=UNANNOUNCED)
def test_what_changed_meanwhile_voids_and_is_named(
    endpoint: Endpoint, ann: User, bea: User, change: Callable[[Endpoint], object], part: str
) -> None:
    """The approval is refused, the request stores the change, and the stage stays."""
    request = rollout_requests.request_promotion(endpoint.profile, by=ann, reason="why")
    assert rollout_requests.find_evidence_changes(request) == []
    before = read_stage(endpoint.profile)

    change(endpoint)
    parts = [
        each.part for each in rollout_requests.find_evidence_changes(RolloutRequest.objects.get())
    ]
    assert part in parts
    with pytest.raises(Refused, match="so it is void"):
        rollout_requests.approve(request, by=bea, reason="yes")

    assert request.state == "voided"
    assert part in [each[0] for each in request.changed]
    assert read_stage(endpoint.profile) in {before, "rejected"}
    assert part in AuditEntry.objects.get(action="rollout.voided").parsed_body["reason"]
    with pytest.raises(Refused, match="is void"):
        rollout_requests.approve(request, by=bea, reason="yes")


# Made by a service, which voids the request in the same transaction.
BY_SERVICES: dict[str, tuple[Callable[[Endpoint], object], str]] = {
    "a mode": (
        lambda e: modes.switch_on(e.profile, Mode.NO_PARALLEL, by=None, reason="odd"),
        "modes.on",
    ),
    "an incident": (lambda e: degrade(e.profile, 1), "incidents"),
    "another key": (
        lambda e: endpoints.update(e, key=None, forget_key=False, model="m-2"),
        "key.is_present",
    ),
    "the endpoint is gone": (endpoints.remove, "endpoint"),
    "other gates": (
        lambda e: gates.change_gates(
            other_gates(trials=31), by=User.objects.create_superuser("root"), reason="more"
        ),
        "gates",
    ),
    "a step back": (
        lambda e: rollout_requests.reject_profile(
            e.profile, by=User.objects.create_superuser("root"), reason="no"
        ),
        "stage",
    ),
}


@pytest.mark.parametrize(("change", "part"), BY_SERVICES.values(), ids=BY_SERVICES)
def test_a_service_that_changes_the_evidence_voids_the_request(
    endpoint: Endpoint, ann: User, change: Callable[[Endpoint], object], part: str
) -> None:
    """At once, with a notice and an audit entry."""
    rollout_requests.request_promotion(endpoint.profile, by=ann, reason="why")

    change(endpoint)

    request = RolloutRequest.objects.get()
    assert request.state == "voided"
    assert part in [each[0] for each in request.changed]
    assert notice_kinds("rollout.decided") == ["rollout.decided"]
    assert audit_actions("rollout.voided") == ["rollout.voided"]


def test_later_runs_with_the_same_result_keep_the_request(
    endpoint: Endpoint, ann: User, bea: User
) -> None:
    """They are evaluated, but do not replace the evidence of the request."""
    request = rollout_requests.request_promotion(endpoint.profile, by=ann, reason="why")
    runs = request.evidence["runs"]

    measure(endpoint)
    Profile.objects.update(verified_at=Now())

    rollout_requests.approve(request, by=bea, reason="yes")
    assert (request.state, request.evidence["runs"]) == ("approved", runs)


@pytest.mark.parametrize(
    ("code", "breaks"), [("empty_id", []), ("index_reused", ["openai-python"])]
)
def test_only_a_deviation_that_breaks_clients_voids_a_request(
    endpoint: Endpoint, ann: User, bea: User, code: str, breaks: list[str]
) -> None:
    """A harmless one may come and go, and be seen in more or fewer attempts."""
    request = rollout_requests.request_promotion(endpoint.profile, by=ann, reason="why")
    seen = {"code": code, "where": "streamed", "attempts": 3, "breaks": breaks}
    profile = endpoint.profile
    profile.capabilities["deviations"] = {"value": [seen], "trials": 9}
    profile.save()

    try:
        rollout_requests.approve(request, by=bea, reason="yes")
    except Refused:
        request.refresh_from_db()

    assert request.state == ("voided" if breaks else "approved")
    changed = [each[0] for each in request.changed or ()]
    assert changed == (["capabilities.deviations"] if breaks else [])


def test_a_baseline_reset_restarts_the_rates(endpoint: Endpoint) -> None:
    """Runs before an accepted degradation no longer count for its metric."""
    for _ in range(3):
        last = measure(endpoint, failures=30)
    profile = endpoint.profile
    watch = profile.watches.get()
    watch.state |= {"last": last.pk, "suite_version": SUITE_VERSION}
    watch.save()
    detection.accept_baseline(profile, Metric.PARSE_SUCCESS, by=None, note="That is how it is now.")
    measure(endpoint)

    conditions = {each.key: each for each in rollout_requests.read_gate_result(profile).conditions}

    # Runs so close together are accepted as one, with the run after them.
    assert "90 of 120 trials went well" in conditions["rate.parse_success"].text
    assert "210 of 300 trials went well" in conditions["rate.schema_failure"].text


def test_facts_of_many_profiles_are_those_of_each(
    endpoint: Endpoint, django_assert_num_queries: Any
) -> None:
    """Resets included; the number of queries does not depend on the number of profiles."""
    other = make_ready_endpoint("read_only", runs=2, slug="other")
    detection.accept_baseline(endpoint.profile, Metric.PARSE_SUCCESS, by=None, note="As it is now.")
    measure(endpoint, failures=3)
    profiles = [endpoint.profile, other.profile]
    single = {each.pk: read_gate_facts([each])[each.pk] for each in profiles}

    with django_assert_num_queries(7):
        together = read_gate_facts([*profiles, *profiles])

    assert [replace(together[pk], age=each.age) for pk, each in single.items()] == [
        *single.values()
    ]


def test_administrators_change_the_gates_with_a_reason_and_versions_are_kept(
    endpoint: Endpoint, ann: User
) -> None:
    """Every version can be read, and none can be overwritten."""
    root = User.objects.create_superuser("root")
    assert GateVersion.current() == (None, DEFAULTS)

    for body, by, reason, message in (
        (other_gates(runs=5), ann, "why", "Only an administrator"),
        (other_gates(runs=-1), root, "why", "read_only.runs: It must be a whole number"),
        (other_gates(runs=5), root, " ", "Say why"),
        (DEFAULTS.as_json(), root, "why", "hold already"),
    ):
        with pytest.raises(Refused, match=message):
            gates.change_gates(body, by=by, reason=reason)
    first = gates.change_gates(other_gates(runs=5), by=root, reason="Five are better than one.")

    version, current = GateVersion.current()
    assert (version, current.by_stage["read_only"].runs) == (first, 5)
    assert isinstance(current, Gates)
    assert missing_conditions(endpoint.profile) == ["runs"]
    assert rollout_requests.read_gate_result(endpoint.profile).version == first.pk
    entry = AuditEntry.objects.get(action="gates.changed").parsed_body
    assert entry["before"]["gates"]["read_only"]["runs"] == 1
    assert entry["after"]["gates"]["read_only"]["runs"] == 5
    with pytest.raises(Exception, match="followed by another"), transaction.atomic():
        GateVersion.objects.update(reason=F("reason"))
