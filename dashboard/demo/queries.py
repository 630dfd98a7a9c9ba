"""Tells simulated endpoints from real ones."""

from __future__ import annotations

from django.conf import settings
from django.db.models import Q

from dashboard.demo.demo_fleet import PATHS
from dashboard.models import Endpoint
from dashboard.models.endpoint import EndpointQuerySet


def is_simulated(endpoint: Endpoint) -> bool:
    """Its base URL is that of the simulated vendors, or it is an endpoint of the demo.

    Those of the demo are also recognised after the vendors moved to another port or stopped.
    """
    vendors = _vendors_url()
    at_vendors = bool(vendors) and endpoint.base_url.startswith(vendors)
    path = PATHS.get(endpoint.slug)
    return at_vendors or (path is not None and endpoint.base_url.endswith(path))


def filter_simulated(endpoints: EndpointQuerySet) -> EndpointQuerySet:
    """The simulated endpoints: the rule of `is_simulated` as a query."""
    simulated = Q(base_url__startswith=_vendors_url()) if _vendors_url() else Q(pk__in=[])
    for slug, path in PATHS.items():
        simulated |= Q(slug=slug, base_url__endswith=path)
    return endpoints.filter(simulated)


def has_simulated_vendors() -> bool:
    return bool(settings.SIMULATOR_URL)


def _vendors_url() -> str:
    """The common prefix of the URLs of all simulated vendors; "" without any."""
    url: str = settings.SIMULATOR_URL
    return f"{url.rstrip('/')}/" if url else ""
