"""The steps of signing in, and signing out."""

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
from dashboard.accounts.login_throttle import LIMITS_OF_NAME, Limit
from dashboard.accounts.services import second_factor
from dashboard.accounts.sign_in import PendingSignIn
from dashboard.core import account_requirements, durations
from dashboard.core.permissions import own, public

# Longer than the whole queue takes (dashboard.accounts.hashing).
BUSY_RETRY_AFTER_S = 10


class CodeForm(forms.Form):
    code = forms.CharField(
        label=gettext_lazy("Code"),
        max_length=20,
        help_text=gettext_lazy("Six digits from your app, or one of your recovery codes."),
        widget=forms.TextInput(
            {"autocomplete": "one-time-code", "inputmode": "numeric", "autofocus": True}
        ),
    )


class SignInView(LoginView):
    template_name = "accounts/login.html"
    redirect_authenticated_user = True

    @override
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        # A fragment that polls after the session has ended must redirect the whole page.
        htmx: HtmxDetails = request.htmx  # type: ignore[attr-defined]
        if htmx:
            current_url = urlsplit(htmx.current_url or "")
            next_url = urlunsplit(
                ("", "", current_url.path or reverse("fleet"), current_url.query, "")
            )
            return HttpResponseClientRedirect(f"{request.path}?{urlencode({'next': next_url})}")
        return super().dispatch(request, *args, **kwargs)

    @override
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        # Before the form, which would check and render each guess for nothing.
        name = request.POST.get("username", "")
        if wait := login_throttle.remaining_wait(request, name):
            return render_throttled(request, wait)
        return super().post(request, *args, **kwargs)

    @override
    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        person = form.get_user()
        return sign_in.begin_sign_in(
            self.request, person, how="password", next_page=self.get_success_url()
        )

    @override
    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        # Count only credentials that were checked, not empty or overlong fields.
        if form.has_error(NON_FIELD_ERRORS, "invalid_login"):
            name = form.cleaned_data["username"]
            if wait := login_throttle.record_failure(self.request, name):
                return render_throttled(self.request, wait)
        return super().form_invalid(form)

    @override
    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        oidc = settings.OIDC_NAME if settings.OIDC_ON else ""
        return super().get_context_data(**kwargs, oidc=oidc)


sign_in_page = public(require_http_methods(["GET", "HEAD", "POST"])(SignInView.as_view()))


@public
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def code_page(request: HttpRequest) -> HttpResponse:
    """The second step, for people who have a second factor."""
    pending = sign_in.find_pending_sign_in(request)
    if pending is None:
        return redirect("login")
    name = pending.person.username
    form = CodeForm(request.POST or None)
    if request.method == "POST":
        if wait := login_throttle.remaining_wait(request, name, limits=LIMITS_OF_NAME):
            return render_throttled(request, wait)
        if method := _check_factor(request, pending.person, form):
            return sign_in.complete_sign_in(
                request, PendingSignIn(pending.person, method, pending.next_page)
            )
        if wait := login_throttle.record_failure(request, name, limits=LIMITS_OF_NAME):
            return render_throttled(request, wait)
    has_passkeys = (
        account_requirements.find_factors(pending.person).filter(type="webauthn").exists()
    )
    context = {"form": form, "has_passkeys": has_passkeys}
    return render(request, "accounts/login_code.html", context)


@public
@require_POST
@never_cache
def sign_in_with_passkey(request: HttpRequest) -> HttpResponse:
    """Sign in with a passkey alone."""
    credential = passkeys.read_credential(request)
    person = passkeys.claimed_owner(credential) if credential else None
    name = person.username if person else ""
    # A passkey cannot be guessed: only the address that sends wrong ones waits, not the person.
    limits = [Limit.NAME_AND_ADDRESS]
    if wait := login_throttle.remaining_wait(request, name, limits=limits):
        return render_throttled(request, wait)
    if credential and person and passkeys.verify_credential(request, person, credential):
        next_page = request.POST.get("next", "")
        return sign_in.begin_sign_in(
            request, person, how="passkey", next_page=next_page, has_both_factors=True
        )
    if wait := login_throttle.record_failure(request, name, limits=limits):
        return render_throttled(request, wait)
    form = AuthenticationForm(request)
    refusal = _("This passkey opens nothing here. Sign in with your password, or try again.")
    context = {"form": form, "next": request.POST.get("next", ""), "refusal": refusal}
    return render(request, "accounts/login.html", context)


@public
@require_POST
@never_cache
def passkey_options(request: HttpRequest) -> HttpResponse:
    """Options for the signed-in person, else for the pending one, else for any passkey."""
    pending = sign_in.find_pending_sign_in(request)
    person = request.user if isinstance(request.user, User) else pending.person if pending else None
    return JsonResponse(passkeys.authentication_options(request, person))


@own
@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    sign_in.sign_out(request)
    return redirect("login")


def render_throttled(request: HttpRequest, wait: timedelta) -> HttpResponse:
    """The page that says how long to wait, with status 429 and Retry-After."""
    seconds = max(1, math.ceil(wait.total_seconds()))
    at_confirm = request.path == reverse("confirm")
    context = {
        "wait": durations.format_rough_duration(wait),
        "back": "confirm" if at_confirm else "login",
    }
    response = render(request, "accounts/slowed.html", context, status=429)
    response.headers["Retry-After"] = str(seconds)
    return response


def render_busy(request: HttpRequest) -> HttpResponse:
    """The page that says that too many passwords are being checked, with status 503."""
    response = render(request, "accounts/busy.html", {"status": 503}, status=503)
    response.headers["Retry-After"] = str(BUSY_RETRY_AFTER_S)
    return response


def _check_factor(request: HttpRequest, person: User, form: CodeForm) -> str:
    """How the second factor was passed; empty if it was not."""
    if credential := passkeys.read_credential(request):
        return (
            "password and passkey"
            if passkeys.verify_credential(request, person, credential)
            else _reject_code(form)
        )
    if not form.is_valid():
        return ""
    if second_factor.check_code(person, form.cleaned_data["code"]):
        return "password and code"
    return _reject_code(form)


def _reject_code(form: CodeForm) -> str:
    form.is_valid()
    form.add_error(
        "code", _("This was not right. Each code works once, and one of an app only for a minute.")
    )
    return ""
