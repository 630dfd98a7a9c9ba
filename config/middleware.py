"""What every request passes through: security headers, a language, a sign-in, one log line."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

import structlog
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.middleware.locale import LocaleMiddleware
from django.utils import translation
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from typing_extensions import override

from dashboard import access, acting, client_address
from dashboard.acting import Acting, Via

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


class SignInFirst(LoginRequiredMiddleware):
    """Who sends something after the session has ended is told so, and comes back to the form."""

    @override
    def handle_no_permission(
        self, request: HttpRequest, view_func: Callable[..., Any]
    ) -> HttpResponseRedirect:
        if request.method in {"GET", "HEAD"}:
            return super().handle_no_permission(request, view_func)
        text = _("Your session had ended, so nothing was sent. Sign in, then send it again.")
        # The class tells static/js/drafts.js to keep what was typed.
        messages.warning(request, text, extra_tags="unsent")
        return redirect_to_login(_page_of(request), self.get_login_url(view_func))


class RightsFirst:
    """Nobody gets to a view without the right that it declares; every request has an actor."""

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        via = Via.API if request.path.startswith("/api/") else Via.PAGE
        known = structlog.contextvars.get_contextvars().get("request_id", "")
        with acting.by(Acting(via, address=client_address.of(request), request_id=known)):
            return self.get_response(request)

    def process_view(
        self,
        request: HttpRequest,
        view: Callable[..., Any],
        args: Sequence[Any],
        named: Mapping[str, Any],
    ) -> None:
        declared = access.declared_by(view)
        # Who asks for something public is not asked who they are: no session is looked up.
        if declared is None or not declared.is_public:
            acting.identify(person_id=request.user.pk, name=request.user.get_username())
        access.check_view(request, view, named)


def _page_of(request: HttpRequest) -> str:
    """Where the form stood: the address it was sent to may not be one that can be read."""
    page = request.headers.get("HX-Current-URL") or request.headers.get("Referer", "")
    if not url_has_allowed_host_and_scheme(page, {request.get_host()}):
        return "/"
    parts = urlsplit(page)
    return urlunsplit(("", "", parts.path or "/", parts.query, ""))


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
