"""What is shown when a request is refused before it reaches its view."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme


def form_too_old(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The token of a form did not fit; `reason` is for the log, which Django writes."""
    page = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(page, {request.get_host()})
    return render(request, "403_csrf.html", {"back": page if is_ours else ""}, status=403)
