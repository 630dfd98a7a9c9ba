"""Finding the endpoint that a request of the API names."""

from __future__ import annotations

from typing import Annotated

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
