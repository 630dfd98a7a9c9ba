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
from dashboard.accounts.services import external_accounts
from dashboard.accounts.views.sign_in import too_soon
from dashboard.core import http
from dashboard.core.errors import Refused
from dashboard.core.permissions import own, public


@public
@require_POST
@never_cache
def begin(request: HttpRequest) -> HttpResponse:
    """To the provider: to sign in, or for whoever is signed in to confirm that it is them."""
    kept = {"for": "sign in", "next": request.POST.get("next", "")}
    if request.user.is_authenticated:
        kept["for"] = "confirm"
    return _begin(request, kept)


@own
@reauthentication.fresh
@require_POST
@never_cache
def link(request: HttpRequest) -> HttpResponse:
    return _begin(request, {"for": "link"})


@own
@reauthentication.fresh
@require_POST
def unlink(request: HttpRequest) -> HttpResponse:
    try:
        external_accounts.unlink(cast(User, request.user))
    except Refused as exc:
        messages.error(request, exc.message)
    else:
        messages.success(request, _("The link is gone."))
    return redirect("security")


@public
@require_safe
@never_cache
def back(request: HttpRequest) -> HttpResponse:
    """From the provider."""
    _only_if_on()

    def arrived(subject: str, claims: dict[str, Any], kept: dict[str, Any]) -> HttpResponse:
        try:
            return _arrived(request, subject, claims, kept)
        except Refused as exc:
            return _failed(request, exc.message)

    return oidc.back(request, arrived=arrived, failed=lambda: _failed(request))


def _arrived(
    request: HttpRequest, subject: str, claims: dict[str, Any], kept: dict[str, Any]
) -> HttpResponse:
    me = request.user if isinstance(request.user, User) else None
    if kept.get("for") == "link" and me:
        external_accounts.link(me, subject)
        messages.success(request, _("Linked: you can sign in that way now."))
        return redirect("security")
    person = external_accounts.person_for(subject, claims)
    if kept.get("for") == "confirm" and me:
        if person.pk != me.pk:
            raise Refused(_("That is somebody else's account."))
        reauthentication.confirm(request)
        page = str(kept.get("next", ""))
        return redirect(http.safe_redirect_url(request, page, otherwise=reverse("settings")))
    if wait := login_throttle.waits(person.username, http.client_address(request)):
        return too_soon(request, wait)
    page = str(kept.get("next", ""))
    return sign_in.begin(request, person, how="OpenID Connect", next_page=page)


def _begin(request: HttpRequest, kept: dict[str, Any]) -> HttpResponse:
    _only_if_on()
    again = kept["for"] != "sign in"
    return oidc.begin(request, kept=kept, again=again, failed=lambda: _failed(request))


def _failed(request: HttpRequest, told: str = "") -> HttpResponse:
    words = _("Signing in with {name} did not work. Try again, or ask an administrator.")
    messages.error(request, told or words.format(name=settings.OIDC_NAME))
    return redirect("security" if request.user.is_authenticated else "login")


def _only_if_on() -> None:
    if not settings.OIDC_ON:
        raise Http404
