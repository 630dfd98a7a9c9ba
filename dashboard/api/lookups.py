"""The endpoint and the parameters that the URL of an API request names."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Path

from dashboard.api.errors import not_found_error
from dashboard.models import Endpoint
from dashboard.models.endpoint import EndpointQuerySet

Slug = Annotated[str, Path(description="The endpoint's name")]


def find_endpoint(slug: str) -> Endpoint:
    """The endpoint with that name; a removed one answers 404."""
    endpoint = kept_endpoints().filter(slug=slug).first()
    if endpoint is None:
        raise not_found_error("endpoint")
    return endpoint


def kept_endpoints() -> EndpointQuerySet:
    return Endpoint.objects.kept().select_related("credential", "team")


_OBJECT_NAMES: Mapping[str, str] = MappingProxyType(
    {"slug": "endpoint", "run_id": "run", "incident_id": "incident", "request_id": "request"}
)


def url_parameters(request: HttpRequest) -> dict[str, Any]:
    match = request.resolver_match
    return match.kwargs if match else {}


def url_object_name(request: HttpRequest) -> str:
    """The kind of object that the URL names, for messages."""
    return next(
        (_OBJECT_NAMES[name] for name in url_parameters(request) if name in _OBJECT_NAMES), "thing"
    )
