"""Recording actions in the audit log, in the transaction of the action: no entry, no action."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from dashboard.core import actor_context
from dashboard.core.sql import execute
from dashboard.models import Endpoint
from dashboard.models.audit import Action

# A longer text is cut and its digest kept, so that a full copy can be proved authentic.
MAX_TEXT_LENGTH = 2_000
MAX_SIDE_LENGTH = 32_000
MAX_DEPTH = 20

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
    """Record an action on a subject, such as "run 17". `before` and `after` name what changed.

    The actor comes from the request; pass `by` only to name another person. No secrets: an entry
    cannot be removed.
    """
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("An audit entry belongs into the transaction of what it tells about.")
    actor = actor_context.current_actor()
    body = {
        "action": action.value,
        "actor": actor.actor_json(by),
        "origin": actor.origin_json(),
        "subject": subject,
        "endpoint": endpoint.slug if endpoint else None,
        "endpoint_id": endpoint.pk if endpoint else None,
        "team": endpoint.team_id if endpoint else None,
        "reason": reason,
    }
    sides = {"before": _bounded_side(before), "after": _bounded_side(after)}
    execute(_INSERT, {"body": _json({**_bounded(body), **sides})})


def changed_values(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values that differ, before and after; both empty if none does."""
    names = [name for name in after if before.get(name) != after[name]]
    return {name: before.get(name) for name in names}, {name: after[name] for name in names}


def _bounded_side(values: Mapping[str, Any] | None) -> Any:
    """One side of a change; if it is too large as a whole, its beginning as text."""
    bounded = _bounded(values)
    if values is None or len(text := _json(bounded)) <= MAX_SIDE_LENGTH:
        return bounded
    return {"cut": _cut_text(text)}


def _bounded(value: Any, depth: int = 0) -> Any:
    """The value with long texts cut, and without characters that Postgres cannot store."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, Mapping | list | tuple | set | frozenset) and depth == MAX_DEPTH:
        return "… [cut: nested too deep]"
    if isinstance(value, Mapping):
        return {_clean_text(key): _bounded(item, depth + 1) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(_clean_text, value))
    if isinstance(value, list | tuple):
        return [_bounded(item, depth + 1) for item in value]
    # JSON has no infinity.
    return value if isinstance(value, float) and isfinite(value) else _clean_text(value)


def _clean_text(value: object) -> str:
    """Without NUL and halves of surrogate pairs."""
    return _cut_text(str(value).replace("\0", "").encode("utf-8", "replace").decode())


def _cut_text(text: str) -> str:
    if len(text) <= MAX_TEXT_LENGTH:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"{text[:MAX_TEXT_LENGTH]}… [cut: {len(text)} characters, sha256 {digest}]"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
