"""Signing in, one's own password, and the language of the pages."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST
from django.views.i18n import set_language
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails
from typing_extensions import override

from dashboard.access import own, public
from dashboard.services import people


class Login(LoginView):
    template_name = "dashboard/login.html"
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


@own
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def password(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    form = PasswordChangeForm(request.user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        people.change_password(request.user, password=form.cleaned_data["new_password1"])
        # This session goes on; all others of this person were bound to the old password.
        update_session_auth_hash(request, request.user)
        messages.success(request, _("Your password is changed. Other sessions have ended."))
        return redirect("settings")
    return render(request, "dashboard/password.html", {"form": form})


# Who cannot read the sign-in page must be able to change its language.
language = public(require_POST(set_language))
