"""What the API writes: the answers of requests that may come twice, and the use of tokens.

A request that comes twice because its answer got lost is done once and answered alike. Both
happen in the transaction of the action itself: either the action and its answer are there or
neither is, wherever a process dies.
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

KEEP_ANSWERS = timedelta(hours=24)
MAX_ANSWER_BYTES = 256 * 1024
_FORGET_BATCH = 10_000
# Not with every request: a busy token would be written a thousand times per second.
USE_NOTED_LONG_AGO = Q(last_used_at=None) | Q(last_used_at__lt=Now() - timedelta(minutes=1))


class KeyInUse(Exception):
    """The first request with this key has not ended."""


class KeyReused(Exception):
    """The key belongs to a request that was a different one."""


@dataclass(frozen=True, slots=True)
class KeyClaim:
    """The first use of a key; whoever holds it owes the answer."""

    token: ApiToken
    key: str
    request: bytes


def claim_key(token: ApiToken, key: str, request: bytes) -> KeyClaim | KeptAnswer:
    """The right to do what the request asks for, or the answer that it got before.

    Nobody else gets either before this transaction is over.
    """
    digest = hashlib.sha256(request).digest()
    if not _lock_key(token, key):
        raise KeyInUse
    known: Any = KeptAnswer.objects.annotate(age=_AGE).filter(token=token, key=key)
    kept = known.first()
    if kept is None:
        return KeyClaim(token, key, digest)
    if kept.age >= KEEP_ANSWERS:
        kept.delete()
        return KeyClaim(token, key, digest)
    if bytes(kept.request) != digest:
        raise KeyReused
    assert isinstance(kept, KeptAnswer)
    return kept


def store_answer(claimed: KeyClaim, *, status: int, content_type: str, body: bytes) -> None:
    """Remember the answer to a claimed request."""
    KeptAnswer.objects.create(
        token=claimed.token,
        key=claimed.key,
        request=claimed.request,
        status=status,
        content_type=content_type,
        body=body if len(body) <= MAX_ANSWER_BYTES else None,
    )


def forget_answers() -> int:
    """Delete what is past its time; returns how many. A great heap takes several turns."""
    return execute(_FORGET, {"kept": KEEP_ANSWERS, "most": _FORGET_BATCH})


def note_token_use(token: ApiToken) -> None:
    """Write when the token was last used, unless another request of this minute did."""
    ApiToken.objects.filter(USE_NOTED_LONG_AGO, pk=token.pk).update(last_used_at=Now())


def _lock_key(token: ApiToken, key: str) -> bool:
    digest = hashlib.sha256(f"{token.pk} {key}".encode()).digest()
    number = int.from_bytes(digest[:8], signed=True)
    row = fetch_row("SELECT pg_try_advisory_xact_lock(%(number)s)", {"number": number})
    return bool(row and row[0])


_AGE = ExpressionWrapper(Now() - F("created_at"), output_field=DurationField())
_FORGET = """
DELETE FROM dashboard_keptanswer WHERE id IN (
    SELECT id FROM dashboard_keptanswer
    WHERE created_at <= now() - %(kept)s ORDER BY created_at LIMIT %(most)s
    FOR UPDATE SKIP LOCKED
)
"""
