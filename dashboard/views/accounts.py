"""Signing in, and the language of the pages."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode, urlsplit

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_POST
from django.views.i18n import set_language
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails
from typing_extensions import override


@method_decorator(login_not_required, name="dispatch")
class Login(LoginView):
    template_name = "dashboard/login.html"
    redirect_authenticated_user = True

    @override
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        # A part that polls after the session has ended must move the whole page, not become it.
        htmx: HtmxDetails = request.htmx  # type: ignore[attr-defined]
        if htmx:
            back = urlsplit(htmx.current_url or "").path or reverse("fleet")
            return HttpResponseClientRedirect(f"{request.path}?{urlencode({'next': back})}")
        return super().dispatch(request, *args, **kwargs)


# Who cannot read the sign-in page must be able to change its language.
language = login_not_required(require_POST(set_language))
