"""Making the registered endpoints what a file says, all or nothing."""

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
from dashboard.endpoints.as_code.file_reader import Declared
from dashboard.endpoints.services import endpoints
from dashboard.models import Applied, Endpoint
from dashboard.models.audit import Action as Audited

# One apply at a time: two files that create the same name would else meet in the middle.
_APPLYING = 0x6170706C


class Outdated(Refused):
    """What would be done is no longer what was shown; here is what it would be now."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(
            _(
                "An endpoint or the file changed after this was shown. Nothing was applied; "
                "look again."
            )
        )
        self.plan = plan


@transaction.atomic
def apply(
    declared: Sequence[Declared], *, prune: bool, expected: str | None, by: User | None
) -> Plan:
    """Do what the plan says and return it. Refuses where it is not the expected one any more."""
    execute("SELECT pg_advisory_xact_lock(%(key)s)", {"key": _APPLYING})
    if prune and not declared:
        raise Refused(_("The file names no endpoint: applying it would remove all of them."))
    _lock(declared, prune=prune)
    plan = apply_plan.make(declared, prune=prune)
    if expected is not None and plan.state != expected:
        raise Outdated(plan)
    done = [(step, _take(step, by=by)) for step in plan.steps]
    _remember([(step, endpoint) for step, endpoint in done if endpoint], by=by)
    if plan.changing:
        told = {step.slug: step.action.value for step in plan.changing}
        audit.record(Audited.ENDPOINTS_APPLIED, subject="endpoints of a file", by=by, after=told)
    return plan


def _lock(declared: Sequence[Declared], *, prune: bool) -> None:
    """Keep what the plan will be made of as it is, until it is carried out."""
    kept = Endpoint.objects.kept()
    if not prune:
        kept = kept.filter(slug__in=[each.slug for each in declared])
    # In one order, as everybody who locks several rows.
    list(kept.order_by("pk").select_for_update().values_list("pk"))


def _take(step: Step, *, by: User | None) -> Endpoint | None:
    """Carry out one step; returns the endpoint that the file speaks of."""
    wanted = step.declared
    if step.action is Action.REMOVE and step.endpoint:
        endpoints.remove(step.endpoint)
    if wanted is None:
        return None
    if step.action is Action.CREATE:
        return endpoints.create(slug=wanted.slug, **wanted.values, key=wanted.key)
    assert step.endpoint is not None
    if step.action is Action.CHANGE:
        changes = {change.name: change.new for change in step.changes}
        key = wanted.key if changes.pop(apply_plan.KEY, None) else None
        fields: dict[str, Any] = {name: wanted.values[name] for name in changes}
        endpoints.update(step.endpoint, key=key, forget_key=False, by=by, **fields)
    return step.endpoint


def _remember(set_: Sequence[tuple[Step, Endpoint]], *, by: User | None) -> None:
    """Keep what the file said of each, so that a later edit can be told from it."""
    changed = [
        Applied(endpoint=endpoint, fields=step.declared.as_file(), by=by, at=Now())
        for step, endpoint in set_
        if step.declared and (step.is_adopted or step.action is not Action.UNCHANGED)
    ]
    Applied.objects.bulk_create(
        changed,
        update_conflicts=True,
        unique_fields=["endpoint"],
        update_fields=["fields", "at", "by"],
    )
