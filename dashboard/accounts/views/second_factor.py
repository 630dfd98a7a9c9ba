"""One's own second factors: an app, passkeys, recovery codes."""

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
from dashboard.accounts import second_factor as second_factors
from dashboard.accounts.reauthentication import fresh, fresh_when
from dashboard.accounts.services import external_accounts, second_factor
from dashboard.core.errors import Refused
from dashboard.core.permissions import own

# Where a session holds the secret of an app that is being set up.
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
def page(request: HttpRequest) -> HttpResponse:
    person = cast(User, request.user)
    factors = list(second_factors.of(person))
    context = {
        "app": next((each for each in factors if each.type == "totp"), None),
        "passkeys": [each for each in factors if each.type == "webauthn"],
        "codes_left": second_factor.codes_left(person),
        "passkeys_possible": passkeys.are_possible(request),
        "is_owed": bool(settings.REQUIRE_SECOND_FACTOR) and second_factors.is_owed(person),
        "oidc": settings.OIDC_NAME if settings.OIDC_ON else "",
        "linked": external_accounts.link_of(person) if settings.OIDC_ON else None,
    }
    return render(request, "accounts/security.html", context)


@own
@fresh_when(lambda request: True)
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def app(request: HttpRequest) -> HttpResponse:
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
            return _added(request, codes, _("The app is set up. You are asked for its codes."))
    account = person.email or person.username
    address = one_time_codes.app_address(secret, issuer="Toolgauge", account=account)
    spelled = " ".join(secret[at : at + 4] for at in range(0, len(secret), 4))
    context = {"form": form, "secret": spelled, "picture": _qr_code(address)}
    return render(request, "accounts/security_app.html", context)


@own
@fresh_when(lambda request: True)
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def new_passkey(request: HttpRequest) -> HttpResponse:
    person = cast(User, request.user)
    form = PasskeyForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        answer = passkeys.read(request)
        if answer and passkeys.accept(request, answer):
            name = form.cleaned_data["name"]
            codes = second_factor.add_passkey(person, name=name, credential=answer)
            return _added(request, codes, _("The passkey is set up. You can sign in with it."))
        form.add_error(None, _("The passkey was not made. Try again, or use another one."))
    context = {"form": form, "invitation": passkeys.invitation(request, person)}
    return render(request, "accounts/security_passkey.html", context)


@own
@fresh
@require_POST
def remove(request: HttpRequest, factor_id: int) -> HttpResponse:
    person = cast(User, request.user)
    found = get_object_or_404(second_factors.of(person), pk=factor_id)
    second_factor.remove(person, found)
    told = _("It is removed.")
    if not second_factors.has_any(person):
        told = _("It is removed. You sign in with your password alone.")
    messages.success(request, told)
    return redirect("security")


@own
@fresh
@require_POST
@never_cache
def codes(request: HttpRequest) -> HttpResponse:
    try:
        drawn = second_factor.new_codes(cast(User, request.user))
    except Refused as exc:
        messages.error(request, exc.message)
        return redirect("security")
    return _codes(request, drawn)


def _added(request: HttpRequest, drawn: list[str], told: str) -> HttpResponse:
    messages.success(request, told)
    return _codes(request, drawn) if drawn else redirect("security")


def _codes(request: HttpRequest, drawn: list[str]) -> HttpResponse:
    # The answer to the post itself, not a redirect: the codes are shown nowhere else.
    context: dict[str, Any] = {"codes": drawn, "text": "\n".join(drawn)}
    return render(request, "accounts/security_codes.html", context)


def _qr_code(text: str) -> str:
    """The address of a picture that holds the text."""
    drawn = BytesIO()
    qrcode.make(text, image_factory=SvgPathImage).save(drawn)
    return f"data:image/svg+xml;base64,{base64.b64encode(drawn.getvalue()).decode()}"
