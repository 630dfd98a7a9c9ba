"""The one door: every way of signing in ends here, so that one place holds all the rules.

A password or a provider's word leads to the second factor where somebody has one. A passkey is
both at once: something they have, opened by something they know or are.
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

from dashboard.accounts import second_factor
from dashboard.accounts.services import sign_in
from dashboard.accounts.session_store import SessionStore
from dashboard.core import http

BACKEND = "django.contrib.auth.backends.ModelBackend"
_PENDING = "pending_sign_in"
# Who gave the right password has so long to find their phone.
_PATIENCE = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Pending:
    """Somebody who has shown the first factor and owes the second."""

    person: User
    how: str
    next_page: str


def begin(
    request: HttpRequest, person: User, *, how: str, next_page: str, is_both: bool = False
) -> HttpResponse:
    """Let somebody in who has shown a first factor, or ask for the second."""
    if not person.is_active:
        messages.error(request, _("This account is not active. Ask an administrator."))
        return redirect("login")
    if not is_both and second_factor.has_any(person):
        request.session[_PENDING] = {
            "person": person.pk,
            "bound_to": person.get_session_auth_hash(),
            "how": how,
            "next": next_page,
            "at": timezone.now().isoformat(),
        }
        return redirect("login-code")
    return complete(request, Pending(person, how, next_page))


def pending(request: HttpRequest) -> Pending | None:
    """Who owes the second factor in this session; nobody once it took too long."""
    kept = request.session.get(_PENDING)
    if kept is None or timezone.now() - datetime.fromisoformat(kept["at"]) > _PATIENCE:
        return None
    person = User.objects.filter(pk=kept["person"], is_active=True).first()
    # A password that was changed in between is no first factor any more.
    if person is None or person.get_session_auth_hash() != kept["bound_to"]:
        return None
    return Pending(person, kept["how"], kept["next"])


def complete(request: HttpRequest, who: Pending) -> HttpResponse:
    """Let them in, under a new session key, and write it down."""
    request.session.pop(_PENDING, None)
    login(request, who.person, backend=BACKEND)
    browser = http.browser_name(request.headers.get("User-Agent", ""))
    session = cast(SessionStore, request.session)
    address = http.client_address(request)
    session.begin(address=address, browser=browser)
    sign_in.succeeded(who.person, how=who.how, address=address, browser=browser)
    return redirect(http.safe_redirect_url(request, who.next_page, otherwise=reverse("fleet")))


def leave(request: HttpRequest) -> None:
    """End this session."""
    if isinstance(request.user, User):
        sign_in.signed_out(request.user)
    logout(request)
