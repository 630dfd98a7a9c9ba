"""The address that a request came from, past as many proxies as are said to be ours."""

from __future__ import annotations

import ipaddress

from django.conf import settings
from django.http import HttpRequest


def of(request: HttpRequest) -> str:
    """The address that the outermost proxy of ours saw; what lies before it may be invented."""
    seen = str(request.META.get("REMOTE_ADDR", ""))
    hops = [hop.strip() for hop in request.headers.get("X-Forwarded-For", "").split(",")]
    proxies: int = settings.TRUSTED_PROXIES
    if not proxies or len(hops) < proxies:
        return _plain(seen)
    return _plain(hops[-proxies]) or _plain(seen)


def _plain(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return ""
