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
from dashboard.api.errors import Answered, ApiError, internal, response
from dashboard.api.services import AnotherRequest, Claim, UnderWay
from dashboard.models import ApiToken, KeptAnswer

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
_KEY = re.compile(r"[\x21-\x7e]{1,200}")
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

View = Callable[..., HttpResponseBase]


def once(view: View) -> View:
    """A view whose changes and whose answer are kept together, where a key asks for it."""

    @wraps(view)
    def kept(request: HttpRequest, **arguments: Any) -> HttpResponseBase:
        if not _wanted(request):
            return view(request, **arguments)
        try:
            with transaction.atomic():
                answer = view(request, **arguments)
                _keep(request, answer)
        except DatabaseError as exc:
            # It could not be remembered, so it was not done either.
            return response(internal(exc))
        return answer

    return kept


def claim(request: HttpRequest, token: ApiToken) -> None:
    """Go on only if this is the first request with its key; the caller is known and may do it."""
    if not _wanted(request):
        return
    key = request.headers[HEADER]
    if not _KEY.fullmatch(key):
        raise ApiError(400, f"{HEADER} takes 1 to 200 printable ASCII characters without spaces.")
    try:
        found = idempotency.claim(token, key, _asked(request))
    except UnderWay as exc:
        message = f"A request with this {HEADER} is under way. Send it again in a moment."
        headers = {"Retry-After": "1"}
        raise ApiError(409, message, code="in_progress", headers=headers) from exc
    except AnotherRequest as exc:
        message = f"This {HEADER} was sent before with another method, address or body."
        raise ApiError(422, message, code="key_reused") from exc
    if isinstance(found, KeptAnswer):
        raise Answered(_answer(found))
    request._claim = found  # type: ignore[attr-defined]


def _wanted(request: HttpRequest) -> bool:
    return request.method not in _SAFE and HEADER in request.headers


def _asked(request: HttpRequest) -> bytes:
    return f"{request.method} {request.get_full_path()}\n".encode() + request.body


def _answer(kept: KeptAnswer) -> HttpResponse:
    if kept.body is None:
        raise ApiError(409, "This was done before. Its answer was too large to keep: read it anew.")
    answer = HttpResponse(bytes(kept.body), status=kept.status)
    if kept.content_type:
        answer.headers["Content-Type"] = kept.content_type
    else:
        del answer.headers["Content-Type"]
    answer.headers[REPLAYED] = "true"
    return answer


def _keep(request: HttpRequest, answer: HttpResponseBase) -> None:
    claimed: Claim | None = getattr(request, "_claim", None)
    if claimed is None:
        return
    if answer.status_code >= 500 or not isinstance(answer, HttpResponse):
        # Our own fault: nothing of it stays, and the same request may be sent again.
        transaction.set_rollback(True)
        return
    content_type = answer.headers.get("Content-Type", "")
    idempotency.keep(
        claimed, status=answer.status_code, content_type=content_type, body=answer.content
    )
