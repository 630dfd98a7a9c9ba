"""Writing down what was done, in the transaction that does it: no entry, no action."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from dashboard import acting
from dashboard.models import Endpoint
from dashboard.models.audit import Action
from dashboard.services.statements import execute

_INSERT = "INSERT INTO dashboard_auditentry (body) VALUES (%(body)s)"


def record(  # noqa: PLR0913 -- keyword-only: the columns of an entry
    action: Action,
    *,
    subject: str,
    endpoint: Endpoint | None = None,
    by: User | None = None,
    reason: str = "",
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    """Write down an action on a subject, such as "run 17". `before` and `after` name what changed.

    Whoever acts is known from the request; `by` is needed only where that is not the person meant.
    No secrets: what is written here cannot be taken out again.
    """
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("An audit entry belongs into the transaction of what it tells about.")
    now = acting.now()
    body = {
        "action": action.value,
        "actor": now.actor_json(by),
        "origin": now.origin_json(),
        "subject": subject,
        "endpoint": endpoint.slug if endpoint else None,
        "team": endpoint.team_id if endpoint else None,
        "reason": reason,
        "before": before,
        "after": after,
    }
    text = json.dumps(_clean(body), ensure_ascii=False, sort_keys=True, default=str)
    execute(_INSERT, {"body": text})


def _clean(value: Any) -> Any:
    """Without what Postgres cannot keep in text: NUL and halves of surrogate pairs."""
    if isinstance(value, str):
        return value.replace("\0", "").encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {_clean(str(key)): _clean(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_clean(each) for each in value]
    return value
