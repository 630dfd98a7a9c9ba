"""The pages for requests that are refused before they reach their view."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme

from dashboard.core.permissions import NOBODY, actor_of


def permission_denied_page(request: HttpRequest, exception: PermissionDenied) -> HttpResponse:
    """A right is missing; a new person without any role sees whom to ask for one."""
    is_new = request.user.is_authenticated and actor_of(request) == NOBODY
    return render(request, "errors/no_role.html" if is_new else "403.html", status=403)


def csrf_failure_page(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The CSRF token of a form is invalid; Django logs `reason`."""
    page = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(page, {request.get_host()})
    return render(request, "403_csrf.html", {"back": page if is_ours else ""}, status=403)
