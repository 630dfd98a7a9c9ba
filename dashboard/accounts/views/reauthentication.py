"""Showing once more who one is: by password, by code or by passkey."""

from __future__ import annotations

from typing import cast

from django import forms
from django.conf import settings
from django.contrib.auth.hashers import check_password
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from dashboard.accounts import login_throttle, passkeys, reauthentication
from dashboard.accounts import second_factor as second_factors
from dashboard.accounts.services import external_accounts, second_factor
from dashboard.accounts.views.sign_in import too_soon
from dashboard.core import http
from dashboard.core.permissions import own


class ConfirmForm(forms.Form):
    password = forms.CharField(
        label=gettext_lazy("Password"),
        required=False,
        strip=False,
        max_length=4096,
        widget=forms.PasswordInput({"autocomplete": "current-password", "autofocus": True}),
    )
    code = forms.CharField(
        label=gettext_lazy("Code"),
        required=False,
        max_length=20,
        help_text=gettext_lazy("Six digits from your app, or one of your recovery codes."),
        widget=forms.TextInput({"autocomplete": "one-time-code", "inputmode": "numeric"}),
    )


@own
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def page(request: HttpRequest) -> HttpResponse:
    person = cast(User, request.user)
    asked = request.POST.get("next") or request.GET.get("next", "")
    to = http.safe_redirect_url(request, asked, otherwise=reverse("settings"))
    form = ConfirmForm(request.POST if request.method == "POST" else None)
    if request.method == "POST":
        if wait := login_throttle.waits(person.username, http.client_address(request)):
            return too_soon(request, wait)
        if _is_them(request, person, form):
            reauthentication.confirm(request)
            return redirect(to)
        if wait := login_throttle.failed(request, person.username):
            return too_soon(request, wait)
        form.add_error(None, _("This was not right. Nothing was changed; try again."))
    oidc_linked = settings.OIDC_ON and external_accounts.link_of(person)
    kinds = set(second_factors.of(person).values_list("type", flat=True))
    context = {
        "form": form,
        "next": to,
        "by_password": person.has_usable_password(),
        "by_code": "totp" in kinds,
        "by_passkey": "webauthn" in kinds,
        "oidc": settings.OIDC_NAME if oidc_linked else "",
    }
    return render(request, "accounts/confirm.html", context)


def _is_them(request: HttpRequest, person: User, form: ConfirmForm) -> bool:
    if answer := passkeys.read(request):
        return passkeys.verify(request, person, answer) is not None
    if not form.is_valid():
        return False
    if code := form.cleaned_data["code"]:
        return second_factor.check_code(person, code)
    # Whoever has a second factor shows it, unless it is the password that they remember.
    # Only compared: a hash that is made anew meanwhile would end the session it is asked for in.
    return check_password(form.cleaned_data["password"], person.password)
