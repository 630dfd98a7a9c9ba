"""The end of every sign-in method, so that one module holds all the rules.

A password or an OpenID Connect login leads to the second factor if the person has one. A passkey
is both factors at once: something they have, unlocked by something they know or are.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

from django.contrib import messages
from django.contrib.auth import login, logout
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from dashboard.accounts import known_browsers, login_throttle
from dashboard.accounts.services import sign_in
from dashboard.accounts.session_store import SessionStore
from dashboard.core import account_requirements, http

BACKEND = "django.contrib.auth.backends.ModelBackend"
_PENDING = "pending_sign_in"
# How long the second factor may follow the first.
_PENDING_LIFETIME = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """A person who has passed the first factor; the second is missing."""

    person: User
    how: str
    next_page: str


def begin_sign_in(
    request: HttpRequest, person: User, *, how: str, next_page: str, has_both_factors: bool = False
) -> HttpResponse:
    """Sign in a person who has passed a first factor, or redirect to the second."""
    if not person.is_active:
        messages.error(request, _("This account is not active. Ask an administrator."))
        return redirect("login")
    if not has_both_factors and account_requirements.has_second_factor(person):
        request.session[_PENDING] = {
            "person": person.pk,
            "bound_to": person.get_session_auth_hash(),
            "how": how,
            "next": next_page,
            "at": timezone.now().isoformat(),
        }
        return redirect("login-code")
    return complete_sign_in(request, PendingSignIn(person, how, next_page))


def find_pending_sign_in(request: HttpRequest) -> PendingSignIn | None:
    """The sign-in of this session that lacks its second factor; None once it has expired."""
    stored = request.session.get(_PENDING)
    if stored is None or timezone.now() - datetime.fromisoformat(stored["at"]) > _PENDING_LIFETIME:
        return None
    person = User.objects.filter(pk=stored["person"], is_active=True).first()
    # If the password changed meanwhile, the first factor no longer counts.
    if person is None or person.get_session_auth_hash() != stored["bound_to"]:
        return None
    return PendingSignIn(person, stored["how"], stored["next"])


def complete_sign_in(request: HttpRequest, pending: PendingSignIn) -> HttpResponse:
    """Sign the person in under a new session key, and record it."""
    request.session.pop(_PENDING, None)
    login(request, pending.person, backend=BACKEND)
    browser = http.browser_name(request.headers.get("User-Agent", ""))
    session = cast(SessionStore, request.session)
    address = http.client_address(request)
    session.begin(address=address, browser=browser)
    name = pending.person.username
    login_throttle.forget_failures(request, name)
    sign_in.record_sign_in(pending.person, how=pending.how, browser=browser)
    page = http.safe_redirect_url(request, pending.next_page, otherwise=reverse("fleet"))
    response = redirect(page)
    known_browsers.remember_browser(request, response, sign_in.throttle_key(name))
    return response


def sign_out(request: HttpRequest) -> None:
    if isinstance(request.user, User):
        sign_in.record_sign_out(request.user)
    logout(request)
