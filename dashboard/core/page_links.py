"""Addresses of a page whose parts each keep their own wishes in it."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import parse_qsl, urlencode

from django.http import HttpRequest

from dashboard.models import Endpoint
from dashboard.runs import table

# A page asks for far fewer; a longer address is nobody's honest wish.
_MOST = 20
_LONGEST = 2000


def kept(request: HttpRequest, parts: Collection[str]) -> list[tuple[str, str]]:
    """What the address of the page asks for beside these parts."""
    return [pair for pair in _asked(request) if pair[0] not in parts][:_MOST]


def page_with(request: HttpRequest, endpoint: Endpoint, runs: str) -> str:
    """The endpoint's page as it is, with another place in the table of runs."""
    others = urlencode(kept(request, table.PARTS))
    query = "&".join(part for part in (others, runs) if part)
    path = endpoint.get_absolute_url()
    return f"{path}?{query}" if query else path


def _asked(request: HttpRequest) -> list[tuple[str, str]]:
    """Of the page around a part where htmx tells it, else of this request."""
    around = request.headers.get("HX-Current-URL")
    if around is None:
        return parse_qsl(request.META.get("QUERY_STRING", "")[:_LONGEST])
    # By hand: urlsplit raises on what is no address, and any client may send that.
    return parse_qsl(around.partition("#")[0].partition("?")[2][:_LONGEST])
