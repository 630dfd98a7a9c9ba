"""The page behind a one-time link, where a person chooses their password."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods

from dashboard.accounts import sign_in
from dashboard.core.errors import Refused
from dashboard.core.permissions import public
from dashboard.people.services import invitations
from dashboard.people.services.invitations import InvitationLink


def link_url(link: InvitationLink) -> str:
    """The URL to pass on; shown only in the response to its creation."""
    return settings.PUBLIC_URL + reverse("invitation", args=[link.text])


@public
@sensitive_post_parameters()
@sensitive_variables()
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def invitation_page(request: HttpRequest, token: str) -> HttpResponse:
    invitation = invitations.find_invitation(token)
    if invitation is None:
        return _invalid_link_page(request)
    form: SetPasswordForm[User] = SetPasswordForm(invitation.person, request.POST or None)
    if request.method == "POST" and form.is_valid():
        password: str = form.cleaned_data["new_password1"]
        try:
            person = invitations.accept_invitation(token, password=password)
        except Refused:
            return _invalid_link_page(request)
        return _sign_in(request, person)
    context = {"form": form, "person": invitation.person, "expires_at": invitation.expires_at}
    return render(request, "people/invitation.html", context)


def _sign_in(request: HttpRequest, person: User) -> HttpResponse:
    sign_in.sign_out(request)
    response = sign_in.begin_sign_in(request, person, how="invitation", next_page=reverse("fleet"))
    text = _("Welcome, {name}. Your password is set.").format(name=person.get_username())
    messages.success(request, text)
    return response


def _invalid_link_page(request: HttpRequest) -> HttpResponse:
    # Wrong, used, expired and revoked links look the same: a guess learns nothing.
    return render(request, "people/invitation_gone.html", status=404)
