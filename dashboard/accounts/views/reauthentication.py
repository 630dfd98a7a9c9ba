"""Confirming the identity again: by password, by code or by passkey."""

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
from dashboard.accounts.login_throttle import LIMITS_OF_NAME
from dashboard.accounts.services import external_accounts, second_factor
from dashboard.accounts.views.sign_in import render_throttled
from dashboard.core import account_requirements, http
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
def confirm_page(request: HttpRequest) -> HttpResponse:
    person = cast(User, request.user)
    name = person.username
    requested = request.POST.get("next") or request.GET.get("next", "")
    next_url = http.safe_redirect_url(request, requested, otherwise=reverse("settings"))
    form = ConfirmForm(request.POST if request.method == "POST" else None)
    if request.method == "POST":
        if wait := login_throttle.remaining_wait(request, name, limits=LIMITS_OF_NAME):
            return render_throttled(request, wait)
        if _is_confirmed(request, person, form):
            reauthentication.record_confirmation(request)
            return redirect(next_url)
        if wait := login_throttle.record_failure(request, name, limits=LIMITS_OF_NAME):
            return render_throttled(request, wait)
        form.add_error(None, _("This was not right. Nothing was changed; try again."))
    is_linked = settings.OIDC_ON and external_accounts.find_link(person)
    kinds = set(account_requirements.find_factors(person).values_list("type", flat=True))
    context = {
        "form": form,
        "next": next_url,
        "by_password": person.has_usable_password(),
        "by_code": "totp" in kinds,
        "by_passkey": "webauthn" in kinds,
        "oidc": settings.OIDC_NAME if is_linked else "",
    }
    return render(request, "accounts/confirm.html", context)


def _is_confirmed(request: HttpRequest, person: User, form: ConfirmForm) -> bool:
    if answer := passkeys.read_credential(request):
        return passkeys.verify_credential(request, person, answer) is not None
    if not form.is_valid():
        return False
    if code := form.cleaned_data["code"]:
        return second_factor.check_code(person, code)
    # The password is enough even with a second factor.
    # check_password, not User.check_password: an upgraded hash would end this session.
    return check_password(form.cleaned_data["password"], person.password)
