"""The person's own password, and the language of the pages."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST
from django.views.i18n import set_language

from dashboard.accounts import login_throttle, reauthentication
from dashboard.accounts.login_throttle import LIMITS_OF_NAME
from dashboard.accounts.services import passwords
from dashboard.accounts.views.sign_in import render_throttled
from dashboard.core.permissions import own, public


@own
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def change_password(request: HttpRequest) -> HttpResponse:
    person = cast(User, request.user)
    name = person.username
    form = PasswordChangeForm(person, request.POST or None)
    if request.method == "POST":
        # This form checks the old password, so guesses are throttled here too.
        if wait := login_throttle.remaining_wait(request, name, limits=LIMITS_OF_NAME):
            return render_throttled(request, wait)
        if form.is_valid():
            return _save_password(request, person, form.cleaned_data["new_password1"])
        is_wrong = "old_password" in form.errors and form.data.get("old_password")
        if is_wrong and (
            wait := login_throttle.record_failure(request, name, limits=LIMITS_OF_NAME)
        ):
            return render_throttled(request, wait)
    return render(request, "accounts/password.html", {"form": form})


def _save_password(request: HttpRequest, person: User, password: str) -> HttpResponse:
    passwords.set_password(person, password=password, session_key=request.session.session_key)
    # This session stays; all others of this person were bound to the old password.
    update_session_auth_hash(request, person)
    reauthentication.record_confirmation(request)
    messages.success(request, _("Your password is changed. Other sessions have ended."))
    return redirect("settings")


# Public: the language of the sign-in page can be changed too.
change_language = public(require_POST(set_language))
