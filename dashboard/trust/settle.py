"""Settling an endpoint after a change: its policy first, then the requests that depended on it.

Every service that changes what a policy depends on calls `settle` at its end, in its transaction.
"""

from __future__ import annotations

from dashboard.models import Endpoint
from dashboard.trust import expiry, policies


def settle(endpoint: Endpoint) -> None:
    """Resolve the endpoint's policy, then void requests whose ground changed; it is locked."""
    policies.refresh(endpoint)
    expiry.void_changed(endpoint)
