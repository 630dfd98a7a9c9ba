"""Changing the conditions of the stages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from dashboard.audit import services as audit
from dashboard.core import permissions
from dashboard.core.errors import Refused
from dashboard.core.permissions import Right
from dashboard.core.reasons import clean_reason
from dashboard.core.sql import execute
from dashboard.models import GateVersion
from dashboard.models.audit import Action
from dashboard.trust import expiry
from health.gates import find_gate_errors, gates_from_json

# The lock between asking, which shares it, and changing what is asked by.
_LOCK = 0x67617465


def hold_still() -> None:
    """Let nobody change the gates until this transaction is over."""
    execute("SELECT pg_advisory_xact_lock_shared(%(key)s)", {"key": _LOCK})


@transaction.atomic
def change(
    body: Mapping[str, Any], *, by: User, reason: str, seen: int | None = None
) -> GateVersion:
    """Let other gates hold from now on. Whatever was asked for under the old ones is void.

    `seen` is the version that they were made from, 0 for the default ones: another one refuses.
    """
    if not permissions.user_actor(User.objects.get(pk=by.pk)).may(Right.ADMINISTER, None):
        raise Refused(_("Only an administrator may change the gates."))
    if found := find_gate_errors(body):
        where, why = found[0]
        raise Refused(_("{where}: {why}").format(where=where, why=why) if where else why)
    execute("SELECT pg_advisory_xact_lock(%(key)s)", {"key": _LOCK})
    reason = clean_reason(reason)
    before, held = GateVersion.current()
    if seen is not None and seen != (before.pk if before else 0):
        raise Refused(_("Somebody else has changed the gates since. Look at them again."))
    wanted = gates_from_json(body)
    if wanted == held:
        raise Refused(_("These are the gates that hold already."))
    version = GateVersion.objects.create(body=wanted.as_json(), reason=reason, by=by)
    audit.record(
        Action.GATES_CHANGED,
        subject=f"gates {version.pk}",
        by=by,
        reason=reason,
        before={"version": before.pk if before else None, "gates": held.as_json()},
        after={"version": version.pk, "gates": wanted.as_json()},
    )
    expiry.void_all()
    return version
