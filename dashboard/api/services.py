"""Requests that come twice because their answer got lost: done once, answered alike.

Everything happens in the transaction of the action itself. Either the action and its answer are
both there or neither is, wherever a process dies.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import DurationField, ExpressionWrapper, F
from django.db.models.functions import Now

from dashboard.core.sql import execute, fetch_row
from dashboard.models import ApiToken, KeptAnswer

KEPT = timedelta(hours=24)
LARGEST = 256 * 1024
_MOST_FORGOTTEN = 10_000


class UnderWay(Exception):
    """The first request with this key has not ended."""


class AnotherRequest(Exception):
    """The key belongs to a request that was a different one."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The first use of a key; whoever holds it owes the answer."""

    token: ApiToken
    key: str
    request: bytes


def claim(token: ApiToken, key: str, request: bytes) -> Claim | KeptAnswer:
    """The right to do what the request asks for, or the answer that it got before.

    Nobody else gets either before this transaction is over.
    """
    digest = hashlib.sha256(request).digest()
    if not _locked(token, key):
        raise UnderWay
    known: Any = KeptAnswer.objects.annotate(age=_AGE).filter(token=token, key=key)
    kept = known.first()
    if kept is None:
        return Claim(token, key, digest)
    if kept.age >= KEPT:
        kept.delete()
        return Claim(token, key, digest)
    if bytes(kept.request) != digest:
        raise AnotherRequest
    assert isinstance(kept, KeptAnswer)
    return kept


def keep(claimed: Claim, *, status: int, content_type: str, body: bytes) -> None:
    """Remember the answer to a claimed request."""
    KeptAnswer.objects.create(
        token=claimed.token,
        key=claimed.key,
        request=claimed.request,
        status=status,
        content_type=content_type,
        body=body if len(body) <= LARGEST else None,
    )


def forget() -> int:
    """Delete what is past its time; returns how many. A great heap takes several turns."""
    return execute(_FORGET, {"kept": KEPT, "most": _MOST_FORGOTTEN})


def _locked(token: ApiToken, key: str) -> bool:
    digest = hashlib.sha256(f"{token.pk} {key}".encode()).digest()
    number = int.from_bytes(digest[:8], signed=True)
    found = fetch_row("SELECT pg_try_advisory_xact_lock(%(number)s)", {"number": number})
    return bool(found and found[0])


_AGE = ExpressionWrapper(Now() - F("created_at"), output_field=DurationField())
_FORGET = """
DELETE FROM dashboard_keptanswer WHERE id IN (
    SELECT id FROM dashboard_keptanswer
    WHERE created_at <= now() - %(kept)s ORDER BY created_at LIMIT %(most)s
    FOR UPDATE SKIP LOCKED
)
"""
