"""The page that a form was sent from, to lead back to it."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme


def page_of(request: HttpRequest) -> str:
    """Where the form stood: the address it was sent to may not be one that can be read."""
    page = request.headers.get("HX-Current-URL") or request.headers.get("Referer", "")
    if not url_has_allowed_host_and_scheme(page, {request.get_host()}):
        return "/"
    parts = urlsplit(page)
    return urlunsplit(("", "", parts.path or "/", parts.query, ""))


def kept_inside(request: HttpRequest, page: str, *, otherwise: str) -> str:
    """An address that somebody was to be led to, unless it is another site's."""
    safe = url_has_allowed_host_and_scheme(
        page, {request.get_host()}, require_https=request.is_secure()
    )
    return page if safe else otherwise
