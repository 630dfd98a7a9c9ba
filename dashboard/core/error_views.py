"""What is shown when a request is refused before it reaches its view."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme

from dashboard.core.permissions import NOBODY, actor_of


def not_allowed(request: HttpRequest, exception: PermissionDenied) -> HttpResponse:
    """A right is missing; whoever was just admitted has none at all, and is told whom to ask."""
    is_new = request.user.is_authenticated and actor_of(request) == NOBODY
    return render(request, "errors/no_role.html" if is_new else "403.html", status=403)


def form_too_old(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The token of a form did not fit; `reason` is for the log, which Django writes."""
    page = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(page, {request.get_host()})
    return render(request, "403_csrf.html", {"back": page if is_ours else ""}, status=403)
