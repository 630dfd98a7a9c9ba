"""Middleware: security headers, language, sign-in and rights, session activity, one log line."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, cast

import structlog
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRedirect

from dashboard.accounts import second_factor
from dashboard.accounts.hashing import HashingBusy
from dashboard.accounts.services import sessions
from dashboard.accounts.session_store import SessionStore
from dashboard.accounts.views.sign_in import render_busy
from dashboard.core import account_requirements, actor_context, http, permissions
from dashboard.core.actor_context import ActorContext, Via

log = structlog.get_logger()

Next = Callable[[HttpRequest], HttpResponseBase]
View = Callable[..., Any]
# Returns a response in place of the view's, or None.
Guard = Callable[[HttpRequest, View, Mapping[str, Any]], HttpResponseBase | None]

OPEN_WITHOUT_PASSWORD = frozenset({"password", "logout"})


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
    """Pages follow the reader's choice or browser; responses for programs are always English."""

    MACHINES = ("/api/", "/metrics", "/healthz", "/readyz")

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response
        self.localized = cast(Next, LocaleMiddleware(get_response))

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path.startswith(self.MACHINES):
            with translation.override("en"):
                return self.get_response(request)
        return self.localized(request)


class ViewGuards:
    """Runs GUARDS in order before every view, and sets the actor of the request."""

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        via = Via.API if request.path.startswith("/api/") else Via.PAGE
        request_id = structlog.contextvars.get_contextvars().get("request_id", "")
        with actor_context.acting_as(
            ActorContext(via, address=http.client_address(request), request_id=request_id)
        ):
            return self.get_response(request)

    def process_view(
        self,
        request: HttpRequest,
        view: View,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> HttpResponseBase | None:
        responses = (guard(request, view, kwargs) for guard in GUARDS)
        return next((response for response in responses if response is not None), None)

    def process_exception(self, request: HttpRequest, exc: Exception) -> HttpResponseBase | None:
        """Ask to come back later if too many passwords wait to be hashed."""
        return render_busy(request) if isinstance(exc, HashingBusy) else None


def require_sign_in(
    request: HttpRequest, view: View, kwargs: Mapping[str, Any]
) -> HttpResponseBase | None:
    """Redirect to the sign-in page; a form sent after the session ended can be sent again."""
    if request.user.is_authenticated or not getattr(view, "login_required", True):
        return None
    if request.method in {"GET", "HEAD"}:
        return redirect_to_login(request.get_full_path())
    text = _("Your session had ended, so nothing was sent. Sign in, then send it again.")
    # static/js/drafts.js keeps the typed text when it sees this class.
    messages.warning(request, text, extra_tags="unsent")
    return redirect_to_login(http.referring_page(request))


def require_rights(request: HttpRequest, view: View, kwargs: Mapping[str, Any]) -> None:
    """Raises unless the person has the right that the view declares."""
    declared = permissions.declared_rights(view)
    # The actor of a public view is not looked up.
    if declared is None or not declared.is_public:
        actor_context.identify_actor(person_id=request.user.pk, name=request.user.get_username())
    permissions.check_view(request, view, kwargs)


def require_own_password(
    request: HttpRequest, view: View, kwargs: Mapping[str, Any]
) -> HttpResponseBase | None:
    """A generated password that was printed must be changed before anything else."""
    if _is_open(request, view, OPEN_WITHOUT_PASSWORD) or not isinstance(request.user, User):
        return None
    if not account_requirements.must_change_password(request.user):
        return None
    return _redirect_to(request, "password")


def require_second_factor(
    request: HttpRequest, view: View, kwargs: Mapping[str, Any]
) -> HttpResponseBase | None:
    """A person whose role needs a second factor must set one up before anything else."""
    if _is_open(request, view, second_factor.OPEN_WITHOUT_FACTOR):
        return None
    if not account_requirements.lacks_required_factor(cast(User, request.user)):
        return None
    messages.warning(request, _("Your role needs a second factor. Set one up to go on."))
    return _redirect_to(request, "security")


GUARDS: tuple[Guard, ...] = (
    require_sign_in,
    require_rights,
    require_own_password,
    require_second_factor,
)


def _is_open(request: HttpRequest, view: View, names: Collection[str]) -> bool:
    """Whether a view is public or in `names`; dashboard.api.auth checks sessions in the API."""
    declared = permissions.declared_rights(view)
    match = request.resolver_match
    return declared is None or declared.is_public or bool(match and match.url_name in names)


def _redirect_to(request: HttpRequest, name: str) -> HttpResponseBase:
    url = reverse(name)
    return HttpResponseClientRedirect(url) if "HX-Request" in request.headers else redirect(url)


class SessionActivity:
    """Records a person's activity, which extends their session.

    Requests that a page sends by itself do not count: an open page must not keep its session alive.
    """

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        session = cast(SessionStore, request.session)
        is_background = request.method == "GET" and "HX-Request" in request.headers
        # Only if the request used the session, and it has not just ended.
        if (
            session.accessed
            and not is_background
            and session.session_key
            and session.is_activity_due()
        ):
            assert session.row is not None
            browser = http.browser_name(request.headers.get("User-Agent", ""))
            sessions.record_activity(
                session.row, address=http.client_address(request), browser=browser
            )
        return response


class RequestLog:
    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        sent_id = request.headers.get("X-Request-ID", "")
        request_id = sent_id if re.fullmatch(r"[A-Za-z0-9_-]{8,64}", sent_id) else uuid.uuid4().hex
        started = time.monotonic()
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            response = self.get_response(request)
            ms = round((time.monotonic() - started) * 1000)
            facts = {"method": request.method, "path": request.path, "status": response.status_code}
            log.info("request served", ms=ms, **facts)
        response.headers["X-Request-ID"] = request_id
        return response
