"""What the API writes: responses to idempotent requests, and the last use of tokens.

A request that is repeated because its response got lost is done once and answered alike. The
response is stored in the transaction of the action: whenever a process dies, either both are there
or neither is.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import DurationField, ExpressionWrapper, F, Q
from django.db.models.functions import Now

from dashboard.core.sql import execute, fetch_row
from dashboard.models import ApiToken, KeptAnswer

ANSWER_LIFETIME = timedelta(hours=24)
MAX_ANSWER_BYTES = 256 * 1024
_DELETE_BATCH = 10_000
# Not with every request: a busy token would cause a thousand writes per second.
LAST_USE_IS_OLD = Q(last_used_at=None) | Q(last_used_at__lt=Now() - timedelta(minutes=1))


class KeyInUse(Exception):
    """The first request with this key is still running."""


class KeyReused(Exception):
    """The key belongs to a different request."""


@dataclass(frozen=True, slots=True)
class KeyClaim:
    """The first use of a key; its holder must store the response."""

    token: ApiToken
    key: str
    request: bytes


def claim_key(token: ApiToken, key: str, request: bytes) -> KeyClaim | KeptAnswer:
    """Claim the key for this request, or return the response that is stored under it.

    The key stays locked until the transaction ends.
    """
    digest = hashlib.sha256(request).digest()
    if not _lock_key(token, key):
        raise KeyInUse
    answers: Any = KeptAnswer.objects.annotate(age=_AGE).filter(token=token, key=key)
    stored = answers.first()
    if stored is None:
        return KeyClaim(token, key, digest)
    if stored.age >= ANSWER_LIFETIME:
        stored.delete()
        return KeyClaim(token, key, digest)
    if bytes(stored.request) != digest:
        raise KeyReused
    assert isinstance(stored, KeptAnswer)
    return stored


def store_answer(claim: KeyClaim, *, status: int, content_type: str, body: bytes) -> None:
    KeptAnswer.objects.create(
        token=claim.token,
        key=claim.key,
        request=claim.request,
        status=status,
        content_type=content_type,
        body=body if len(body) <= MAX_ANSWER_BYTES else None,
    )


def delete_expired_answers() -> int:
    """Delete one batch of expired responses; returns how many."""
    return execute(_DELETE_EXPIRED, {"kept": ANSWER_LIFETIME, "most": _DELETE_BATCH})


def record_token_use(token: ApiToken) -> None:
    """Record when the token was last used, at most once per minute."""
    ApiToken.objects.filter(LAST_USE_IS_OLD, pk=token.pk).update(last_used_at=Now())


def _lock_key(token: ApiToken, key: str) -> bool:
    digest = hashlib.sha256(f"{token.pk} {key}".encode()).digest()
    number = int.from_bytes(digest[:8], signed=True)
    row = fetch_row("SELECT pg_try_advisory_xact_lock(%(number)s)", {"number": number})
    return bool(row and row[0])


_AGE = ExpressionWrapper(Now() - F("created_at"), output_field=DurationField())
_DELETE_EXPIRED = """
DELETE FROM dashboard_keptanswer WHERE id IN (
    SELECT id FROM dashboard_keptanswer
    WHERE created_at <= now() - %(kept)s ORDER BY created_at LIMIT %(most)s
    FOR UPDATE SKIP LOCKED
)
"""
