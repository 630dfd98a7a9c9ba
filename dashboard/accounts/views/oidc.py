"""Signing in, confirming and linking by the OpenID Connect provider."""

from __future__ import annotations

from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from dashboard.accounts import login_throttle, oidc, reauthentication, sign_in
from dashboard.accounts.login_throttle import LIMITS_OF_NAME
from dashboard.accounts.services import external_accounts
from dashboard.accounts.views.sign_in import render_throttled
from dashboard.core import http
from dashboard.core.errors import Refused
from dashboard.core.permissions import own, public


@public
@require_POST
@never_cache
def begin_sign_in(request: HttpRequest) -> HttpResponse:
    """Redirect to the provider: to sign in, or to confirm the identity if already signed in."""
    state = {"for": "sign in", "next": request.POST.get("next", "")}
    if request.user.is_authenticated:
        state["for"] = "confirm"
    return _begin_flow(request, state)


@own
@reauthentication.require_reauthentication
@require_POST
@never_cache
def link_account(request: HttpRequest) -> HttpResponse:
    return _begin_flow(request, {"for": "link"})


@own
@reauthentication.require_reauthentication
@require_POST
def unlink_account(request: HttpRequest) -> HttpResponse:
    try:
        external_accounts.unlink_account(cast(User, request.user))
    except Refused as exc:
        messages.error(request, exc.message)
    else:
        messages.success(request, _("The link is gone."))
    return redirect("security")


@public
@require_safe
@never_cache
def callback(request: HttpRequest) -> HttpResponse:
    """The redirect back from the provider."""
    _require_oidc()

    def on_login(subject: str, claims: dict[str, Any], state: dict[str, Any]) -> HttpResponse:
        try:
            return _complete(request, subject, claims, state)
        except Refused as exc:
            return _redirect_after_failure(request, exc.message)

    return oidc.handle_callback(
        request, on_login=on_login, on_failure=lambda: _redirect_after_failure(request)
    )


def _complete(
    request: HttpRequest, subject: str, claims: dict[str, Any], state: dict[str, Any]
) -> HttpResponse:
    current = request.user if isinstance(request.user, User) else None
    if state.get("for") == "link" and current:
        external_accounts.link_account(current, subject)
        messages.success(request, _("Linked: you can sign in that way now."))
        return redirect("security")
    person = external_accounts.find_or_create_person(subject, claims)
    if state.get("for") == "confirm" and current:
        if person.pk != current.pk:
            raise Refused(_("That is somebody else's account."))
        reauthentication.record_confirmation(request)
        page = str(state.get("next", ""))
        return redirect(http.safe_redirect_url(request, page, otherwise=reverse("settings")))
    if wait := login_throttle.remaining_wait(request, person.username, limits=LIMITS_OF_NAME):
        return render_throttled(request, wait)
    page = str(state.get("next", ""))
    return sign_in.begin_sign_in(request, person, how="OpenID Connect", next_page=page)


def _begin_flow(request: HttpRequest, state: dict[str, Any]) -> HttpResponse:
    _require_oidc()
    reauthenticate = state["for"] != "sign in"
    return oidc.begin_flow(
        request,
        state=state,
        reauthenticate=reauthenticate,
        on_failure=lambda: _redirect_after_failure(request),
    )


def _redirect_after_failure(request: HttpRequest, message: str = "") -> HttpResponse:
    text = _("Signing in with {name} did not work. Try again, or ask an administrator.")
    messages.error(request, message or text.format(name=settings.OIDC_NAME))
    return redirect("security" if request.user.is_authenticated else "login")


def _require_oidc() -> None:
    if not settings.OIDC_ON:
        raise Http404
