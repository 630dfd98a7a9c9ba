"""The API's URLs: public to the middleware since operations check tokens; errors are JSON."""

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
    """The arguments of `path()`: the operations, and a catch-all that answers 404."""
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
    # Each operation checks its token or session itself.
    return public(wrap(view))


def _wrap_sync_view(view: View) -> View:
    idempotent_view = idempotency.idempotent(view)

    @wraps(view)
    def wrapped(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        return _finish_response(request, idempotent_view(request, **kwargs))

    return wrapped


def _wrap_async_view(view: AsyncView) -> AsyncView:
    @wraps(view)
    async def wrapped(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        return _finish_response(request, await view(request, **kwargs))

    return wrapped


def _finish_response(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    if rate_result := getattr(request, "_rate_result", None):
        for name, value in rate_result.headers().items():
            response.headers.setdefault(name, value)
    if not isinstance(response, HttpResponseNotAllowed):
        # Responses must be neither cached for other callers nor shown when stale.
        response.headers.setdefault("Cache-Control", "private, no-cache")
        return response
    allowed = response.headers["Allow"]
    message = f"{request.method} is not possible here; use {allowed}."
    return error_response(ApiError(405, message, headers={"Allow": allowed}))
