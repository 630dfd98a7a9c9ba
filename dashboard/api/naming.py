"""What an address names, in words: whether it is not there, or not for the caller, reads alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from dashboard.models import Endpoint, Incident, RolloutRequest, Run

_MOST_ID = 2**63 - 1
_WORDS: Mapping[str, str] = MappingProxyType(
    {"slug": "endpoint", "run_id": "run", "incident_id": "incident", "request_id": "request"}
)
_ROWS: Mapping[str, Callable[[Any], QuerySet[Any]]] = MappingProxyType(
    {
        "slug": lambda slug: Endpoint.objects.kept().filter(slug=slug),
        "run_id": lambda pk: Run.objects.filter(pk=pk, endpoint__removed_at=None),
        "incident_id": lambda pk: Incident.objects.filter(
            pk=pk, profile__endpoint__removed_at=None
        ),
        "request_id": lambda pk: RolloutRequest.objects.filter(pk=pk),
    }
)


def named(request: HttpRequest) -> dict[str, Any]:
    """The parts of the address."""
    match = request.resolver_match
    return match.kwargs if match else {}


def word(request: HttpRequest) -> str:
    """What the address names, as a word."""
    return next((_WORDS[name] for name in named(request) if name in _WORDS), "thing")


def missing(request: HttpRequest) -> str | None:
    """What the address names and is not there, as a word."""
    for name, value in named(request).items():
        look_up = _ROWS.get(name)
        if look_up is not None and not _is_there(look_up, value):
            return _WORDS[name]
    return None


def _is_there(look_up: Callable[[Any], QuerySet[Any]], value: Any) -> bool:
    return not (isinstance(value, int) and value > _MOST_ID) and look_up(value).exists()
