"""What every request passes through: security headers, a language, a sign-in, one log line."""

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
from dashboard.accounts.services import sessions
from dashboard.accounts.session_store import SessionStore
from dashboard.core import actor_context, http, permissions
from dashboard.core.actor_context import ActorContext, Via
from dashboard.people.services import people

log = structlog.get_logger()

Next = Callable[[HttpRequest], HttpResponseBase]
View = Callable[..., Any]
# What answers in place of the view, or None.
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


class ViewGuards:
    """A request reaches a view only past GUARDS, in their order; every request has an actor."""

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        via = Via.API if request.path.startswith("/api/") else Via.PAGE
        known = structlog.contextvars.get_contextvars().get("request_id", "")
        with actor_context.acting_as(
            ActorContext(via, address=http.client_address(request), request_id=known)
        ):
            return self.get_response(request)

    def process_view(
        self,
        request: HttpRequest,
        view: View,
        args: Sequence[Any],
        named: Mapping[str, Any],
    ) -> HttpResponseBase | None:
        answers = (guard(request, view, named) for guard in GUARDS)
        return next((answer for answer in answers if answer is not None), None)


def require_sign_in(
    request: HttpRequest, view: View, named: Mapping[str, Any]
) -> HttpResponseBase | None:
    """A form that is sent after the session has ended is explained, and can be sent again."""
    if request.user.is_authenticated or not getattr(view, "login_required", True):
        return None
    if request.method in {"GET", "HEAD"}:
        return redirect_to_login(request.get_full_path())
    text = _("Your session had ended, so nothing was sent. Sign in, then send it again.")
    # The class tells static/js/drafts.js to keep what was typed.
    messages.warning(request, text, extra_tags="unsent")
    return redirect_to_login(http.referring_page(request))


def require_rights(request: HttpRequest, view: View, named: Mapping[str, Any]) -> None:
    """Raises unless the person has the right that the view declares."""
    declared = permissions.declared_rights(view)
    # The actor of a public view is not looked up.
    if declared is None or not declared.is_public:
        actor_context.identify_actor(person_id=request.user.pk, name=request.user.get_username())
    permissions.check_view(request, view, named)


def require_own_password(
    request: HttpRequest, view: View, named: Mapping[str, Any]
) -> HttpResponseBase | None:
    """A password that a machine drew and printed is changed before anything else."""
    if _is_open(request, view, OPEN_WITHOUT_PASSWORD) or not isinstance(request.user, User):
        return None
    return _go_to(request, "password") if people.must_change_password(request.user) else None


def require_second_factor(
    request: HttpRequest, view: View, named: Mapping[str, Any]
) -> HttpResponseBase | None:
    """A person whose role needs a second factor sets one up before anything else."""
    if not settings.REQUIRE_SECOND_FACTOR or _is_open(
        request, view, second_factor.OPEN_WITHOUT_FACTOR
    ):
        return None
    if not second_factor.lacks_required_factor(cast(User, request.user)):
        return None
    messages.warning(request, _("Your role needs a second factor. Set one up to go on."))
    return _go_to(request, "security")


GUARDS: tuple[Guard, ...] = (
    require_sign_in,
    require_rights,
    require_own_password,
    require_second_factor,
)


def _is_open(request: HttpRequest, view: View, names: Collection[str]) -> bool:
    """Whether a view is public or named; programs come with tokens, to views that are public."""
    declared = permissions.declared_rights(view)
    match = request.resolver_match
    return declared is None or declared.is_public or bool(match and match.url_name in names)


def _go_to(request: HttpRequest, name: str) -> HttpResponseBase:
    url = reverse(name)
    return HttpResponseClientRedirect(url) if "HX-Request" in request.headers else redirect(url)


class Presence:
    """Notes that a person is here, which puts off the end of an idle session.

    What a page asks for by itself does not count: a page left open must not keep its session alive.
    """

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        session = cast(SessionStore, request.session)
        by_itself = request.method == "GET" and "HX-Request" in request.headers
        # Only where the session was looked at anyway, and has not just ended.
        if session.accessed and not by_itself and session.session_key and session.is_activity_due():
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
