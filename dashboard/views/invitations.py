"""The page behind a one-time link, where somebody chooses their password."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import authenticate, login, logout
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods

from dashboard.access import public
from dashboard.errors import Refused
from dashboard.services import invitations
from dashboard.services.invitations import Link


def address_of(link: Link) -> str:
    """Where a link leads, to be passed on; only the answer to whoever made it holds it."""
    return settings.PUBLIC_URL + reverse("invitation", args=[link.text])


@public
@sensitive_post_parameters()
@sensitive_variables()
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def page(request: HttpRequest, token: str) -> HttpResponse:
    found = invitations.find(token)
    if found is None:
        return _opens_nothing(request)
    form: SetPasswordForm[User] = SetPasswordForm(found.person, request.POST or None)
    if request.method == "POST" and form.is_valid():
        password: str = form.cleaned_data["new_password1"]
        try:
            accepted = invitations.accept(token, password=password)
        except Refused:
            return _opens_nothing(request)
        return _let_in(request, accepted, password)
    context = {"form": form, "person": found.person, "expires_at": found.expires_at}
    return render(request, "dashboard/invitation.html", context)


def _let_in(request: HttpRequest, accepted: invitations.Accepted, password: str) -> HttpResponse:
    """A new person is signed in. Whoever only forgot a password signs in as always.

    They may have a second factor, and a link to a new password is none.
    """
    logout(request)
    name = accepted.person.get_username()
    person = authenticate(request, username=name, password=password) if accepted.is_first else None
    if person is None:
        messages.success(request, _("Your password is set. Sign in with it."))
        return redirect("login")
    login(request, person)
    messages.success(request, _("Welcome, {name}. Your password is set.").format(name=name))
    return redirect("fleet")


def _opens_nothing(request: HttpRequest) -> HttpResponse:
    # Wrong, used, expired and taken back look the same: a guess learns nothing.
    return render(request, "dashboard/invitation_gone.html", status=404)
