"""Which endpoints are simulated, so that pages can say so."""

from __future__ import annotations

from django.conf import settings
from django.db.models import Q

from dashboard.demo.demo_fleet import PATHS
from dashboard.models import Endpoint
from dashboard.models.endpoint import EndpointQuerySet


def is_simulated(endpoint: Endpoint) -> bool:
    """Whether simulated vendors answer for it, whoever registered it.

    It stands at their address, or it is one of the demo's: those are known again where the
    vendors have moved to another port, or do not run any more.
    """
    vendors = _vendors_url()
    at_vendors = bool(vendors) and endpoint.base_url.startswith(vendors)
    path = PATHS.get(endpoint.slug)
    return at_vendors or (path is not None and endpoint.base_url.endswith(path))


def filter_simulated(endpoints: EndpointQuerySet) -> EndpointQuerySet:
    """Those of the endpoints that are simulated: the rule of `is_simulated`, for the database."""
    simulated = Q(base_url__startswith=_vendors_url()) if _vendors_url() else Q(pk__in=[])
    for slug, path in PATHS.items():
        simulated |= Q(slug=slug, base_url__endswith=path)
    return endpoints.filter(simulated)


def has_simulated_vendors() -> bool:
    """Whether this installation has simulated vendors at all."""
    return bool(settings.SIMULATOR_URL)


def _vendors_url() -> str:
    """What the addresses of all simulated vendors begin with; "" where there are none."""
    url: str = settings.SIMULATOR_URL
    return f"{url.rstrip('/')}/" if url else ""
