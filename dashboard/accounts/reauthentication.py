"""Asking again who somebody is, before what changes credentials or decides.

A sign-in counts for CONFIRMED_FOR; after that a password, a code or a passkey is asked for again.
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
When = Callable[[HttpRequest], bool]


def is_fresh(request: HttpRequest) -> bool:
    """Whether whoever sent this showed who they are a short while ago."""
    session = request.session
    told = session.get(_CONFIRMED) or session.get(session_store.SINCE)
    if told is None:
        return False
    age = timezone.now() - datetime.fromisoformat(told)
    return bool(age < settings.CONFIRMED_FOR)


def confirm(request: HttpRequest) -> None:
    """Note that they have just shown it."""
    request.session[_CONFIRMED] = timezone.now().isoformat()


def is_sent(request: HttpRequest) -> bool:
    return request.method not in _SAFE


def fresh(view: View) -> View:
    """For views where whatever is sent needs a fresh confirmation; looking does not."""
    return fresh_when(is_sent)(view)


def fresh_when(needed: When) -> Callable[[View], View]:
    """For views where only some requests need one."""

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **named: Any) -> HttpResponse:
            if needed(request) and not is_fresh(request):
                return _ask(request)
            return cast(HttpResponse, view(request, *args, **named))

        return cast(View, guarded)

    return decorate


def _ask(request: HttpRequest) -> HttpResponse:
    if is_sent(request):
        # The class tells static/js/drafts.js to keep what was typed.
        text = _("Nothing was sent yet: confirm that it is you, then send it again.")
        messages.warning(request, text, extra_tags="unsent")
        back = http.referring_page(request)
    else:
        back = request.get_full_path()
    to = f"{reverse('confirm')}?{urlencode({'next': back})}"
    if "HX-Request" in request.headers:
        return HttpResponseClientRedirect(to)
    return redirect(to)
