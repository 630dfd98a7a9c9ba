"""What every request passes through: security headers, a language, and one log line with an id."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable
from typing import cast

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.utils import translation

log = structlog.get_logger()

Next = Callable[[HttpRequest], HttpResponseBase]


class SecurityHeaders:
    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", settings.CONTENT_SECURITY_POLICY)
        response.headers.setdefault(
            "Permissions-Policy", "camera=(), geolocation=(), microphone=()"
        )
        return response


class PageLanguage:
    """Pages follow the reader's choice or browser; what machines read is English for everybody."""

    MACHINES = ("/api/", "/metrics", "/healthz", "/readyz")

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response
        self.chosen = cast(Next, LocaleMiddleware(get_response))

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path.startswith(self.MACHINES):
            with translation.override("en"):
                return self.get_response(request)
        return self.chosen(request)


class RequestLog:
    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        given = request.headers.get("X-Request-ID", "")
        request_id = given if re.fullmatch(r"[A-Za-z0-9_-]{8,64}", given) else uuid.uuid4().hex
        started = time.monotonic()
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            response = self.get_response(request)
            ms = round((time.monotonic() - started) * 1000)
            facts = {"method": request.method, "path": request.path, "status": response.status_code}
            log.info("request served", ms=ms, **facts)
        response.headers["X-Request-ID"] = request_id
        return response
