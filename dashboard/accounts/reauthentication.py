"""Reauthentication before views that change credentials or decide on requests.

A sign-in counts for CONFIRMED_FOR; after that a password, a code or a passkey is required again.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Any, TypeVar, cast
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRedirect

from dashboard.accounts import session_store
from dashboard.core import http

_CONFIRMED = "confirmed_at"
_SAFE = {"GET", "HEAD", "OPTIONS"}

View = TypeVar("View", bound=Callable[..., Any])
Condition = Callable[[HttpRequest], bool]


def is_recently_confirmed(request: HttpRequest) -> bool:
    """Whether the person signed in or confirmed their identity within CONFIRMED_FOR."""
    session = request.session
    confirmed_at = session.get(_CONFIRMED) or session.get(session_store.SINCE)
    if confirmed_at is None:
        return False
    age = timezone.now() - datetime.fromisoformat(confirmed_at)
    return bool(age < settings.CONFIRMED_FOR)


def record_confirmation(request: HttpRequest) -> None:
    request.session[_CONFIRMED] = timezone.now().isoformat()


def is_unsafe(request: HttpRequest) -> bool:
    return request.method not in _SAFE


def require_reauthentication(view: View) -> View:
    """For views where unsafe methods need a recent confirmation and safe ones do not."""
    return require_reauthentication_when(is_unsafe)(view)


def require_reauthentication_when(is_needed: Condition) -> Callable[[View], View]:
    """For views where the requests that `is_needed` selects need a recent confirmation."""

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if is_needed(request) and not is_recently_confirmed(request):
                return _redirect_to_confirm(request)
            return cast(HttpResponse, view(request, *args, **kwargs))

        return cast(View, guarded)

    return decorate


def _redirect_to_confirm(request: HttpRequest) -> HttpResponse:
    if is_unsafe(request):
        # static/js/drafts.js keeps the typed text when it sees this class.
        text = _("Nothing was sent yet: confirm that it is you, then send it again.")
        messages.warning(request, text, extra_tags="unsent")
        back = http.referring_page(request)
    else:
        back = request.get_full_path()
    to = f"{reverse('confirm')}?{urlencode({'next': back})}"
    if "HX-Request" in request.headers:
        return HttpResponseClientRedirect(to)
    return redirect(to)
