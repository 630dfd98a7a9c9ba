"""Signing in, step by step, and out."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from django import forms
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.core.exceptions import NON_FIELD_ERRORS
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails
from typing_extensions import override

from dashboard.accounts import login_throttle, passkeys, sign_in
from dashboard.accounts import second_factor as second_factors
from dashboard.accounts.services import second_factor
from dashboard.accounts.sign_in import Pending
from dashboard.core import durations, http
from dashboard.core.permissions import own, public


class CodeForm(forms.Form):
    code = forms.CharField(
        label=gettext_lazy("Code"),
        max_length=20,
        help_text=gettext_lazy("Six digits from your app, or one of your recovery codes."),
        widget=forms.TextInput(
            {"autocomplete": "one-time-code", "inputmode": "numeric", "autofocus": True}
        ),
    )


class Login(LoginView):
    template_name = "accounts/login.html"
    redirect_authenticated_user = True

    @override
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        # A part that polls after the session has ended must move the whole page, not become it.
        htmx: HtmxDetails = request.htmx  # type: ignore[attr-defined]
        if htmx:
            here = urlsplit(htmx.current_url or "")
            back = urlunsplit(("", "", here.path or reverse("fleet"), here.query, ""))
            return HttpResponseClientRedirect(f"{request.path}?{urlencode({'next': back})}")
        return super().dispatch(request, *args, **kwargs)

    @override
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        # Before the form, which would be drawn in vain for each of a thousand guesses.
        name = request.POST.get("username", "")
        if wait := login_throttle.waits(name, http.client_address(request)):
            return too_soon(request, wait)
        return super().post(request, *args, **kwargs)

    @override
    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        person = form.get_user()
        return sign_in.begin(self.request, person, how="password", next_page=self.get_success_url())

    @override
    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        # Not what was left out or is too long: only a name and a password that were looked at.
        if form.has_error(NON_FIELD_ERRORS, "invalid_login"):
            name = form.cleaned_data["username"]
            if wait := login_throttle.failed(self.request, name):
                return too_soon(self.request, wait)
        return super().form_invalid(form)

    @override
    def get_context_data(self, **given: Any) -> dict[str, Any]:
        oidc = settings.OIDC_NAME if settings.OIDC_ON else ""
        return super().get_context_data(**given, oidc=oidc)


page = public(require_http_methods(["GET", "HEAD", "POST"])(Login.as_view()))


@public
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def code(request: HttpRequest) -> HttpResponse:
    """The second step, for those who have a second factor."""
    who = sign_in.pending(request)
    if who is None:
        return redirect("login")
    form = CodeForm(request.POST or None)
    if request.method == "POST":
        if wait := login_throttle.waits(who.person.username, http.client_address(request)):
            return too_soon(request, wait)
        if how := _shown(request, who.person, form):
            return sign_in.complete(request, Pending(who.person, how, who.next_page))
        if wait := login_throttle.failed(request, who.person.username):
            return too_soon(request, wait)
    has_passkeys = second_factors.of(who.person).filter(type="webauthn").exists()
    context = {"form": form, "has_passkeys": has_passkeys}
    return render(request, "accounts/login_code.html", context)


@public
@require_POST
@never_cache
def passkey(request: HttpRequest) -> HttpResponse:
    """Sign in with a passkey alone."""
    answer = passkeys.read(request)
    person = passkeys.claimed_by(answer) if answer else None
    name = person.username if person else ""
    # Nobody guesses a passkey: only the address that sends wrong ones waits, not the person.
    if wait := login_throttle.waits(name, http.client_address(request), anywhere=False):
        return too_soon(request, wait)
    if answer and person and passkeys.verify(request, person, answer):
        next_page = request.POST.get("next", "")
        return sign_in.begin(request, person, how="passkey", next_page=next_page, is_both=True)
    if wait := login_throttle.failed(request, name):
        return too_soon(request, wait)
    form = AuthenticationForm(request)
    told = _("This passkey opens nothing here. Sign in with your password, or try again.")
    context = {"form": form, "next": request.POST.get("next", ""), "refusal": told}
    return render(request, "accounts/login.html", context)


@public
@require_POST
@never_cache
def passkey_options(request: HttpRequest) -> HttpResponse:
    """What the browser asks a passkey: of whoever is signed in, or half signed in, or anybody."""
    who = sign_in.pending(request)
    person = request.user if isinstance(request.user, User) else who.person if who else None
    return JsonResponse(passkeys.question(request, person))


@own
@require_POST
def leave(request: HttpRequest) -> HttpResponse:
    sign_in.leave(request)
    return redirect("login")


def too_soon(request: HttpRequest, wait: timedelta) -> HttpResponse:
    """Whoever must wait is told how long, and what is not looked at until then."""
    seconds = max(1, math.ceil(wait.total_seconds()))
    at_confirm = request.path == reverse("confirm")
    context = {
        "wait": durations.format_rough_duration(wait),
        "back": "confirm" if at_confirm else "login",
    }
    page = render(request, "accounts/slowed.html", context, status=429)
    page.headers["Retry-After"] = str(seconds)
    return page


def _shown(request: HttpRequest, person: User, form: CodeForm) -> str:
    """How they showed the second factor; empty where they did not."""
    if answer := passkeys.read(request):
        return "password and passkey" if passkeys.verify(request, person, answer) else _wrong(form)
    if not form.is_valid():
        return ""
    if second_factor.check_code(person, form.cleaned_data["code"]):
        return "password and code"
    return _wrong(form)


def _wrong(form: CodeForm) -> str:
    form.is_valid()
    form.add_error(
        "code", _("This was not right. Each code works once, and one of an app only for a minute.")
    )
    return ""
