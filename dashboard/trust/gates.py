"""Changes the gates, which are the conditions of the stages."""

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

# Requests share this lock, so that the gates do not change while one is checked.
_LOCK = 0x67617465


def lock_gates_shared() -> None:
    """Prevent changes of the gates until this transaction ends."""
    execute("SELECT pg_advisory_xact_lock_shared(%(key)s)", {"key": _LOCK})


@transaction.atomic
def change_gates(
    body: Mapping[str, Any], *, by: User, reason: str, seen: int | None = None
) -> GateVersion:
    """Replace the gates and void the requests that were made under the old ones.

    `seen` is the version that the change is based on, 0 for the defaults; refuses if it is not the
    current one.
    """
    if not permissions.user_actor(User.objects.get(pk=by.pk)).may(Right.ADMINISTER, None):
        raise Refused(_("Only an administrator may change the gates."))
    if errors := find_gate_errors(body):
        where, why = errors[0]
        raise Refused(_("{where}: {why}").format(where=where, why=why) if where else why)
    execute("SELECT pg_advisory_xact_lock(%(key)s)", {"key": _LOCK})
    reason = clean_reason(reason)
    before, gates_before = GateVersion.current()
    if seen is not None and seen != (before.pk if before else 0):
        raise Refused(_("Somebody else has changed the gates since. Look at them again."))
    gates = gates_from_json(body)
    if gates == gates_before:
        raise Refused(_("These are the gates that hold already."))
    version = GateVersion.objects.create(body=gates.as_json(), reason=reason, by=by)
    audit.record(
        Action.GATES_CHANGED,
        subject=f"gates {version.pk}",
        by=by,
        reason=reason,
        before={"version": before.pk if before else None, "gates": gates_before.as_json()},
        after={"version": version.pk, "gates": gates.as_json()},
    )
    expiry.void_all_changed_requests()
    return version
