"""What a decision is bound to: whatever changes before it lands voids the request."""

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
from dashboard.trust.gate_facts import facts_of
from health.gates import DEFAULTS, Gates
from health.modes import Mode
from probes.outcomes import Metric
from probes.suite import SUITE_VERSION
from tests.dashboard.rollouts.builders import (
    audited,
    degrade,
    measure,
    missing,
    noticed,
    other_gates,
    ready,
    stage,
)

pytestmark = pytest.mark.django_db


def another_capability(endpoint: Endpoint) -> None:
    found = endpoint.profile.capabilities
    Profile.objects.update(capabilities={**found, "parser": {"value": "hermes", "trials": 3}})


def bad_runs(endpoint: Endpoint) -> None:
    for _ in range(4):
        measure(endpoint, failures=40)


# Behind the back of the services: found out when the decision is made.
SILENT: dict[str, tuple[Callable[[Endpoint], object], str]] = {
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
    "another capability": (another_capability, "capabilities.parser"),
    "another template": (
        lambda e: Profile.objects.update(chat_template_hash="f" * 64),
        "key.chat_template_hash",
    ),
    "gates by hand": (
        lambda e: GateVersion.objects.create(body=other_gates(runs=0), reason="quietly"),
        "gates",
    ),
    "another stage": (lambda e: Profile.objects.update(stage="rejected"), "stage"),
    "later runs that went badly": (bad_runs, "condition.rate.parse_success"),
    "a verdict that became too old": (
        lambda e: Profile.objects.update(verified_at=Now() - 3 * e.ttl),
        "modes.effective",
    ),
    "a budget that is spent": (
        lambda e: Endpoint.objects.update(spent_out_on=Now()),
        "condition.budget",
    ),
}


@pytest.mark.parametrize(("change", "part"), SILENT.values(), ids=SILENT)
def test_what_changed_meanwhile_voids_and_is_named(
    endpoint: Endpoint, ann: User, bea: User, change: Callable[[Endpoint], object], part: str
) -> None:
    """The approver hears what it is; the row keeps it, and the stage stays."""
    request = rollout_requests.ask(endpoint.profile, by=ann, reason="why")
    assert rollout_requests.differences(request) == []
    before = stage(endpoint.profile)

    change(endpoint)
    found = [each.part for each in rollout_requests.differences(RolloutRequest.objects.get())]
    assert part in found
    with pytest.raises(Refused, match="so it is void"):
        rollout_requests.approve(request, by=bea, reason="yes")

    assert request.state == "voided"
    assert part in [each[0] for each in request.changed]
    assert stage(endpoint.profile) in {before, "rejected"}
    assert part in AuditEntry.objects.get(action="rollout.voided").told["reason"]
    with pytest.raises(Refused, match="is void"):
        rollout_requests.approve(request, by=bea, reason="yes")


# By the services: void in the same transaction, so that nobody sees it alive.
ALOUD: dict[str, tuple[Callable[[Endpoint], object], str]] = {
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
        lambda e: gates.change(
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


@pytest.mark.parametrize(("change", "part"), ALOUD.values(), ids=ALOUD)
def test_whoever_changes_its_ground_voids_a_request(
    endpoint: Endpoint, ann: User, change: Callable[[Endpoint], object], part: str
) -> None:
    """At once, with a notice: approvers see no dead request as alive."""
    rollout_requests.ask(endpoint.profile, by=ann, reason="why")

    change(endpoint)

    request = RolloutRequest.objects.get()
    assert request.state == "voided"
    assert part in [each[0] for each in request.changed]
    assert noticed("rollout.decided") == ["rollout.decided"]
    assert audited("rollout.voided") == ["rollout.voided"]


def test_later_runs_that_say_the_same_leave_the_request_alone(
    endpoint: Endpoint, ann: User, bea: User
) -> None:
    """They are judged, but do not replace what the request was made on."""
    request = rollout_requests.ask(endpoint.profile, by=ann, reason="why")
    runs = request.evidence["runs"]

    measure(endpoint)
    Profile.objects.update(verified_at=Now())

    rollout_requests.approve(request, by=bea, reason="yes")
    assert (request.state, request.evidence["runs"]) == ("approved", runs)


def test_a_new_normal_begins_the_figures_anew(endpoint: Endpoint) -> None:
    """What was better before an accepted degradation speaks for nothing any more."""
    for _ in range(3):
        last = measure(endpoint, failures=30)
    profile = endpoint.profile
    watch = profile.watches.get()
    watch.state |= {"last": last.pk, "suite_version": SUITE_VERSION}
    watch.save()
    detection.accept(profile, Metric.PARSE_SUCCESS, by=None, note="That is how it is now.")
    measure(endpoint)

    found = {each.key: each for each in rollout_requests.standing(profile).conditions}

    # Runs that lie so near to each other are accepted as one, with what came after.
    assert "90 of 120 trials went well" in found["rate.parse_success"].text
    assert "210 of 300 trials went well" in found["rate.schema_failure"].text


def test_facts_of_many_profiles_are_those_of_each(
    endpoint: Endpoint, django_assert_num_queries: Any
) -> None:
    """Accepted normals included, read by as many queries for many profiles as for one."""
    other = ready("read_only", runs=2, slug="other")
    detection.accept(endpoint.profile, Metric.PARSE_SUCCESS, by=None, note="As it is now.")
    measure(endpoint, failures=3)
    both = [endpoint.profile, other.profile]
    alone = {each.pk: facts_of([each])[each.pk] for each in both}

    with django_assert_num_queries(7):
        together = facts_of([*both, *both])

    assert [replace(together[pk], age=each.age) for pk, each in alone.items()] == [*alone.values()]


def test_gates_are_changed_by_administrators_with_a_reason_and_kept(
    endpoint: Endpoint, ann: User
) -> None:
    """Every version that ever held can be read, and none can be written over."""
    root = User.objects.create_superuser("root")
    assert GateVersion.current() == (None, DEFAULTS)

    for body, by, reason, why in (
        (other_gates(runs=5), ann, "why", "Only an administrator"),
        (other_gates(runs=-1), root, "why", "read_only.runs: It must be a whole number"),
        (other_gates(runs=5), root, " ", "Say why"),
        (DEFAULTS.as_json(), root, "why", "hold already"),
    ):
        with pytest.raises(Refused, match=why):
            gates.change(body, by=by, reason=reason)
    first = gates.change(other_gates(runs=5), by=root, reason="Five are better than one.")

    version, held = GateVersion.current()
    assert (version, held.by_stage["read_only"].runs) == (first, 5)
    assert isinstance(held, Gates)
    assert missing(endpoint.profile) == ["runs"]
    assert rollout_requests.standing(endpoint.profile).version == first.pk
    told = AuditEntry.objects.get(action="gates.changed").told
    assert told["before"]["gates"]["read_only"]["runs"] == 1
    assert told["after"]["gates"]["read_only"]["runs"] == 5
    with pytest.raises(Exception, match="followed by another"), transaction.atomic():
        GateVersion.objects.update(reason=F("reason"))
