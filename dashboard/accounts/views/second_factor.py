"""The person's own second factors: an app, passkeys, recovery codes."""

from __future__ import annotations

import base64
from io import BytesIO
from typing import Any, cast

import qrcode
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from qrcode.image.svg import SvgPathImage

from dashboard.accounts import one_time_codes, passkeys
from dashboard.accounts.reauthentication import (
    require_reauthentication,
    require_reauthentication_when,
)
from dashboard.accounts.services import external_accounts, second_factor
from dashboard.core import account_requirements
from dashboard.core.errors import Refused
from dashboard.core.permissions import own

# The session key of the secret of an app that is being set up.
APP_SETUP = "mfa.totp.secret"


class AppForm(forms.Form):
    code = forms.CharField(
        label=gettext_lazy("The code that the app shows now"),
        max_length=20,
        widget=forms.TextInput({"autocomplete": "one-time-code", "inputmode": "numeric"}),
    )


class PasskeyForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=60,
        help_text=gettext_lazy("To tell it from your others, such as “laptop” or “blue key”."),
        widget=forms.TextInput({"autocomplete": "off"}),
    )


@own
@require_safe
@never_cache
def security_page(request: HttpRequest) -> HttpResponse:
    person = cast(User, request.user)
    factors = list(account_requirements.find_factors(person))
    context = {
        "app": next((factor for factor in factors if factor.type == "totp"), None),
        "passkeys": [factor for factor in factors if factor.type == "webauthn"],
        "codes_left": second_factor.count_recovery_codes(person),
        "passkeys_possible": passkeys.are_supported(request),
        "lacks_required_factor": account_requirements.lacks_required_factor(person),
        "oidc": settings.OIDC_NAME if settings.OIDC_ON else "",
        "linked": external_accounts.find_link(person) if settings.OIDC_ON else None,
    }
    return render(request, "accounts/security.html", context)


@own
@require_reauthentication_when(lambda request: True)
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def set_up_app(request: HttpRequest) -> HttpResponse:
    person = cast(User, request.user)
    form = AppForm(request.POST or None)
    if request.method != "POST" or APP_SETUP not in request.session:
        request.session[APP_SETUP] = one_time_codes.new_app_secret()
    secret: str = request.session[APP_SETUP]
    if request.method == "POST" and form.is_valid():
        try:
            codes = second_factor.add_app(person, secret=secret, code=form.cleaned_data["code"])
        except Refused as exc:
            form.add_error("code", exc.message)
        else:
            request.session.pop(APP_SETUP)
            return _render_added_factor(
                request, codes, _("The app is set up. You are asked for its codes.")
            )
    account = person.email or person.username
    url = one_time_codes.app_address(secret, issuer="Toolgauge", account=account)
    grouped = " ".join(secret[at : at + 4] for at in range(0, len(secret), 4))
    context = {"form": form, "secret": grouped, "qr_code": _qr_code(url)}
    return render(request, "accounts/security_app.html", context)


@own
@require_reauthentication_when(lambda request: True)
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def add_passkey(request: HttpRequest) -> HttpResponse:
    person = cast(User, request.user)
    form = PasskeyForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        credential = passkeys.read_credential(request)
        if credential and passkeys.verify_registration(request, credential):
            name = form.cleaned_data["name"]
            codes = second_factor.add_passkey(person, name=name, credential=credential)
            return _render_added_factor(
                request, codes, _("The passkey is set up. You can sign in with it.")
            )
        form.add_error(None, _("The passkey was not made. Try again, or use another one."))
    context = {"form": form, "options": passkeys.registration_options(request, person)}
    return render(request, "accounts/security_passkey.html", context)


@own
@require_reauthentication
@require_POST
def remove_factor(request: HttpRequest, factor_id: int) -> HttpResponse:
    person = cast(User, request.user)
    factor = get_object_or_404(account_requirements.find_factors(person), pk=factor_id)
    second_factor.remove_factor(person, factor)
    text = _("It is removed.")
    if not account_requirements.has_second_factor(person):
        text = _("It is removed. You sign in with your password alone.")
    messages.success(request, text)
    return redirect("security")


@own
@require_reauthentication
@require_POST
@never_cache
def renew_recovery_codes(request: HttpRequest) -> HttpResponse:
    try:
        codes = second_factor.renew_recovery_codes(cast(User, request.user))
    except Refused as exc:
        messages.error(request, exc.message)
        return redirect("security")
    return _render_codes(request, codes)


def _render_added_factor(request: HttpRequest, codes: list[str], text: str) -> HttpResponse:
    messages.success(request, text)
    return _render_codes(request, codes) if codes else redirect("security")


def _render_codes(request: HttpRequest, codes: list[str]) -> HttpResponse:
    # Rendered in the response to the POST, not after a redirect: the codes are shown nowhere else.
    context: dict[str, Any] = {"codes": codes, "text": "\n".join(codes)}
    return render(request, "accounts/security_codes.html", context)


def _qr_code(text: str) -> str:
    """The data URL of a QR code with the text."""
    image = BytesIO()
    qrcode.make(text, image_factory=SvgPathImage).save(image)
    return f"data:image/svg+xml;base64,{base64.b64encode(image.getvalue()).decode()}"
