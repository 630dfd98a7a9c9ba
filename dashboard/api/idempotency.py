"""Idempotency-Key: what changes something is done once, however often it is sent."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.db import DatabaseError, transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from dashboard.api import services as idempotency
from dashboard.api.errors import AlreadyAnswered, ApiError, error_response, internal_error
from dashboard.api.services import KeyClaim, KeyInUse, KeyReused
from dashboard.models import ApiToken, KeptAnswer

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
_KEY = re.compile(r"[\x21-\x7e]{1,200}")
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

View = Callable[..., HttpResponseBase]


def idempotent(view: View) -> View:
    """A view whose changes and whose answer are kept together, where a key asks for it."""

    @wraps(view)
    def kept(request: HttpRequest, **arguments: Any) -> HttpResponseBase:
        if not _has_key(request):
            return view(request, **arguments)
        try:
            with transaction.atomic():
                answer = view(request, **arguments)
                _store_answer(request, answer)
        except DatabaseError as exc:
            # It could not be remembered, so it was not done either.
            return error_response(internal_error(exc))
        return answer

    return kept


def claim_key(request: HttpRequest, token: ApiToken) -> None:
    """Go on only if this is the first request with its key; the caller is known and may do it."""
    if not _has_key(request):
        return
    key = request.headers[HEADER]
    if not _KEY.fullmatch(key):
        raise ApiError(400, f"{HEADER} takes 1 to 200 printable ASCII characters without spaces.")
    try:
        claimed = idempotency.claim_key(token, key, _request_bytes(request))
    except KeyInUse as exc:
        message = f"A request with this {HEADER} is under way. Send it again in a moment."
        headers = {"Retry-After": "1"}
        raise ApiError(409, message, code="in_progress", headers=headers) from exc
    except KeyReused as exc:
        message = f"This {HEADER} was sent before with another method, address or body."
        raise ApiError(422, message, code="key_reused") from exc
    if isinstance(claimed, KeptAnswer):
        raise AlreadyAnswered(_replay_answer(claimed))
    request._claim = claimed  # type: ignore[attr-defined]


def _has_key(request: HttpRequest) -> bool:
    return request.method not in _SAFE and HEADER in request.headers


def _request_bytes(request: HttpRequest) -> bytes:
    return f"{request.method} {request.get_full_path()}\n".encode() + request.body


def _replay_answer(kept: KeptAnswer) -> HttpResponse:
    if kept.body is None:
        raise ApiError(409, "This was done before. Its answer was too large to keep: read it anew.")
    answer = HttpResponse(bytes(kept.body), status=kept.status)
    if kept.content_type:
        answer.headers["Content-Type"] = kept.content_type
    else:
        del answer.headers["Content-Type"]
    answer.headers[REPLAYED] = "true"
    return answer


def _store_answer(request: HttpRequest, answer: HttpResponseBase) -> None:
    claimed: KeyClaim | None = getattr(request, "_claim", None)
    if claimed is None:
        return
    if answer.status_code >= 500 or not isinstance(answer, HttpResponse):
        # Our own fault: nothing of it stays, and the same request may be sent again.
        transaction.set_rollback(True)
        return
    content_type = answer.headers.get("Content-Type", "")
    idempotency.store_answer(
        claimed, status=answer.status_code, content_type=content_type, body=answer.content
    )
