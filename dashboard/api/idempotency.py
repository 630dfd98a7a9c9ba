"""Idempotency-Key: a change is made once, however often its request is sent."""

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
    """Store the view's changes and its response in one transaction if the request has a key."""

    @wraps(view)
    def wrapped(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        if not _has_key(request):
            return view(request, **kwargs)
        try:
            with transaction.atomic():
                response = view(request, **kwargs)
                _store_answer(request, response)
        except DatabaseError as exc:
            # The response could not be stored, so the change was rolled back.
            return error_response(internal_error(exc))
        return response

    return wrapped


def claim_key(request: HttpRequest, token: ApiToken) -> None:
    """Raise unless this is the first request with its key. Call it after the rights check."""
    if not _has_key(request):
        return
    key = request.headers[HEADER]
    if not _KEY.fullmatch(key):
        raise ApiError(400, f"{HEADER} takes 1 to 200 printable ASCII characters without spaces.")
    try:
        claim = idempotency.claim_key(token, key, _request_bytes(request))
    except KeyInUse as exc:
        message = f"A request with this {HEADER} is under way. Send it again in a moment."
        headers = {"Retry-After": "1"}
        raise ApiError(409, message, code="in_progress", headers=headers) from exc
    except KeyReused as exc:
        message = f"This {HEADER} was sent before with another method, address or body."
        raise ApiError(422, message, code="key_reused") from exc
    if isinstance(claim, KeptAnswer):
        raise AlreadyAnswered(_replay_answer(claim))
    request._claim = claim  # type: ignore[attr-defined]


def _has_key(request: HttpRequest) -> bool:
    return request.method not in _SAFE and HEADER in request.headers


def _request_bytes(request: HttpRequest) -> bytes:
    return f"{request.method} {request.get_full_path()}\n".encode() + request.body


def _replay_answer(stored: KeptAnswer) -> HttpResponse:
    if stored.body is None:
        raise ApiError(409, "This was done before. Its answer was too large to keep: read it anew.")
    response = HttpResponse(bytes(stored.body), status=stored.status)
    if stored.content_type:
        response.headers["Content-Type"] = stored.content_type
    else:
        del response.headers["Content-Type"]
    response.headers[REPLAYED] = "true"
    return response


def _store_answer(request: HttpRequest, response: HttpResponseBase) -> None:
    claim: KeyClaim | None = getattr(request, "_claim", None)
    if claim is None:
        return
    if response.status_code >= 500 or not isinstance(response, HttpResponse):
        # A server error: roll everything back, so that the same request can be sent again.
        transaction.set_rollback(True)
        return
    content_type = response.headers.get("Content-Type", "")
    idempotency.store_answer(
        claim, status=response.status_code, content_type=content_type, body=response.content
    )
