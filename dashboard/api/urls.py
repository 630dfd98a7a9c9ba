"""The API's addresses: open to tokens instead of sessions, and JSON whatever goes wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, re_path
from django.views.decorators.csrf import csrf_exempt
from ninja import NinjaAPI

from dashboard.api import idempotency
from dashboard.api.errors import ApiError, error_response
from dashboard.core.permissions import public

View = Callable[..., HttpResponseBase]
AsyncView = Callable[..., Awaitable[HttpResponseBase]]


def api_patterns(api: NinjaAPI) -> tuple[list[URLPattern], str, str]:
    """What `path()` takes: the API's own addresses, and one for all that are none."""
    patterns, app, namespace = api.urls
    operations = [pattern for pattern in patterns if isinstance(pattern, URLPattern)]
    for pattern in operations:
        pattern.callback = _wrap_view(pattern.callback)
    return [path("", _unknown_path), *operations, re_path("", _unknown_path)], app, namespace


@public
@csrf_exempt
def _unknown_path(request: HttpRequest, **_: Any) -> HttpResponse:
    message = f"There is nothing at {request.path}. See /api/v1/openapi.json for what there is."
    return error_response(ApiError(404, message))


def _wrap_view(view: Any) -> Any:
    wrap = _wrap_async_view if iscoroutinefunction(view) else _wrap_sync_view
    # Tokens are checked by each operation; the session is only one way to read.
    return public(wrap(view))


def _wrap_sync_view(view: View) -> View:
    done = idempotency.idempotent(view)

    @wraps(view)
    def shaped(request: HttpRequest, **arguments: Any) -> HttpResponseBase:
        return _finish_response(request, done(request, **arguments))

    return shaped


def _wrap_async_view(view: AsyncView) -> AsyncView:
    @wraps(view)
    async def shaped(request: HttpRequest, **arguments: Any) -> HttpResponseBase:
        return _finish_response(request, await view(request, **arguments))

    return shaped


def _finish_response(request: HttpRequest, answer: HttpResponseBase) -> HttpResponseBase:
    if counted := getattr(request, "_counted", None):
        for name, value in counted.headers().items():
            answer.headers.setdefault(name, value)
    if not isinstance(answer, HttpResponseNotAllowed):
        # What one caller may see must not be kept for another, nor shown when it is old.
        answer.headers.setdefault("Cache-Control", "private, no-cache")
        return answer
    allowed = answer.headers["Allow"]
    message = f"{request.method} is not possible here; use {allowed}."
    return error_response(ApiError(405, message, headers={"Allow": allowed}))
