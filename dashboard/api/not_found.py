"""What an address names, in words: whether it is not there, or not for the caller, reads alike."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from django.http import HttpRequest

_OBJECT_NAMES: Mapping[str, str] = MappingProxyType(
    {"slug": "endpoint", "run_id": "run", "incident_id": "incident", "request_id": "request"}
)


def url_parameters(request: HttpRequest) -> dict[str, Any]:
    """The parts of the address."""
    match = request.resolver_match
    return match.kwargs if match else {}


def url_object_name(request: HttpRequest) -> str:
    """What the address names, as a word."""
    return next(
        (_OBJECT_NAMES[name] for name in url_parameters(request) if name in _OBJECT_NAMES), "thing"
    )
