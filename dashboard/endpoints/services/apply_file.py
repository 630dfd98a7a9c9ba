"""Applies an endpoints file in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from dashboard.audit import services as audit
from dashboard.core.errors import Refused
from dashboard.core.sql import execute
from dashboard.endpoints.as_code import apply_plan
from dashboard.endpoints.as_code.apply_plan import Action, Plan, Step
from dashboard.endpoints.as_code.file_reader import DeclaredEndpoint
from dashboard.endpoints.services import endpoints
from dashboard.models import Applied, Endpoint
from dashboard.models.audit import Action as Audited

# The advisory lock of an apply: two applies at once could create the same slug.
_APPLY_LOCK = 0x6170706C


class PlanOutdated(Refused):
    """The plan is no longer the expected one; `plan` is the current one."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(
            _(
                "An endpoint or the file changed after this was shown. Nothing was applied; "
                "look again."
            )
        )
        self.plan = plan


@transaction.atomic
def apply_endpoints(
    declared: Sequence[DeclaredEndpoint], *, prune: bool, expected: str | None, by: User | None
) -> Plan:
    """Make a plan, execute it and return it. Refuses if its state is not the expected one."""
    execute("SELECT pg_advisory_xact_lock(%(key)s)", {"key": _APPLY_LOCK})
    if prune and not declared:
        raise Refused(_("The file names no endpoint: applying it would remove all of them."))
    _lock_endpoints(declared, prune=prune)
    plan = apply_plan.make_plan(declared, prune=prune)
    if expected is not None and plan.state != expected:
        raise PlanOutdated(plan)
    executed = [(step, _execute_step(step, by=by)) for step in plan.steps]
    _record_applied([(step, endpoint) for step, endpoint in executed if endpoint], by=by)
    if plan.changing:
        actions = {step.slug: step.action.value for step in plan.changing}
        audit.record(Audited.ENDPOINTS_APPLIED, subject="endpoints of a file", by=by, after=actions)
    return plan


def _lock_endpoints(declared: Sequence[DeclaredEndpoint], *, prune: bool) -> None:
    """Keep the endpoints unchanged between making the plan and executing it."""
    affected = Endpoint.objects.kept()
    if not prune:
        affected = affected.filter(slug__in=[each.slug for each in declared])
    # Always in the order of ids, so that no two transactions deadlock.
    list(affected.order_by("pk").select_for_update().values_list("pk"))


def _execute_step(step: Step, *, by: User | None) -> Endpoint | None:
    """Execute one step and return the endpoint that the file declares, if any."""
    declared = step.declared
    if step.action is Action.REMOVE and step.endpoint:
        endpoints.remove(step.endpoint)
    if declared is None:
        return None
    if step.action is Action.CREATE:
        return endpoints.create(slug=declared.slug, **declared.values, key=declared.key)
    assert step.endpoint is not None
    if step.action is Action.CHANGE:
        changes = {change.name: change.new for change in step.changes}
        key = declared.key if changes.pop(apply_plan.KEY, None) else None
        fields: dict[str, Any] = {name: declared.values[name] for name in changes}
        endpoints.update(step.endpoint, key=key, forget_key=False, by=by, **fields)
    return step.endpoint


def _record_applied(executed: Sequence[tuple[Step, Endpoint]], *, by: User | None) -> None:
    """Store the values of the file per endpoint, so that later edits can be detected."""
    applied = [
        Applied(endpoint=endpoint, fields=step.declared.as_file(), by=by, at=Now())
        for step, endpoint in executed
        if step.declared and (step.is_adopted or step.action is not Action.UNCHANGED)
    ]
    Applied.objects.bulk_create(
        applied,
        update_conflicts=True,
        unique_fields=["endpoint"],
        update_fields=["fields", "at", "by"],
    )
