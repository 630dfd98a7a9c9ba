"""Requests and responses: client addresses, browser names, redirects, toasts, downloads."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Sequence
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.http import url_has_allowed_host_and_scheme
from django_htmx.http import trigger_client_event

OCTET_STREAM = "application/octet-stream"

# No page of ours has more parameters or a longer query.
_MAX_PARAMETERS = 20
_MAX_QUERY_LENGTH = 2000

# Order matters: most browsers also name the ones they descend from.
_BROWSERS = (
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("HeadlessChrome/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("CriOS/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def client_address(request: HttpRequest) -> str:
    """The address that the outermost trusted proxy saw; earlier hops can be forged."""
    peer = str(request.META.get("REMOTE_ADDR", ""))
    hops = [hop.strip() for hop in request.headers.get("X-Forwarded-For", "").split(",")]
    proxies: int = settings.TRUSTED_PROXIES
    if not proxies or len(hops) < proxies:
        return _parse_address(peer)
    return _parse_address(hops[-proxies]) or _parse_address(peer)


def server_address(request: HttpRequest) -> tuple[str, int]:
    """The address and port of our own that received the request; no header can change them."""
    return str(request.META["SERVER_NAME"]), int(request.META["SERVER_PORT"])


def _parse_address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return ""


def browser_name(user_agent: str) -> str:
    """Such as “Firefox, Linux”; empty for an unknown browser."""
    parts = (_first_match(_BROWSERS, user_agent), _first_match(_SYSTEMS, user_agent))
    return ", ".join(part for part in parts if part)


def _first_match(known: tuple[tuple[str, str], ...], text: str) -> str:
    return next((name for mark, name in known if mark in text), "")


def referring_page(request: HttpRequest) -> str:
    """The page with the form: the address that the form is sent to may not answer GET."""
    page = request.headers.get("HX-Current-URL") or request.headers.get("Referer", "")
    if not url_has_allowed_host_and_scheme(page, {request.get_host()}):
        return "/"
    parts = urlsplit(page)
    return urlunsplit(("", "", parts.path or "/", parts.query, ""))


def safe_redirect_url(request: HttpRequest, page: str, *, otherwise: str) -> str:
    """The page to redirect to; `otherwise` where it is on another site."""
    safe = url_has_allowed_host_and_scheme(
        page, {request.get_host()}, require_https=request.is_secure()
    )
    return page if safe else otherwise


def other_parameters(request: HttpRequest, names: Collection[str]) -> list[tuple[str, str]]:
    """The query parameters of the page that are not in `names`."""
    return [pair for pair in _page_query(request) if pair[0] not in names][:_MAX_PARAMETERS]


def join_queries(pairs: Sequence[tuple[str, str]], query: str) -> str:
    """A query string with these pairs, then the parameters of `query`; "" without any."""
    parts = (urlencode(pairs), query.removeprefix("?"))
    return "?" + "&".join(filter(None, parts)) if any(parts) else ""


def _page_query(request: HttpRequest) -> list[tuple[str, str]]:
    """The query of the page around an htmx fragment, else of this request."""
    page = request.headers.get("HX-Current-URL")
    if page is None:
        return parse_qsl(request.META.get("QUERY_STRING", "")[:_MAX_QUERY_LENGTH])
    # By hand: urlsplit raises on malformed URLs, which any client can send.
    return parse_qsl(page.partition("#")[0].partition("?")[2][:_MAX_QUERY_LENGTH])


def add_toast(response: HttpResponse, text: str, *, level: str = "success") -> HttpResponse:
    """Add a message for static/js/toasts.js; the levels are those of Django's messages."""
    return trigger_client_event(response, "toast", {"text": text, "level": level})


def download_headers(name: str, kind: str = OCTET_STREAM) -> dict[str, str]:
    """Headers of a file from a hostile source: saved, never rendered, without any right.

    The name must contain harmless characters only.
    """
    return {
        "Content-Type": kind,
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-store",
    }
