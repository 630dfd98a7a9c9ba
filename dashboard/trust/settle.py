"""Settles an endpoint after a change: first its policy, then the requests that depend on it.

Every service that changes what a policy depends on calls `settle` last, in its transaction.
"""

from __future__ import annotations

from dashboard.models import Endpoint
from dashboard.trust import expiry, policies


def settle(endpoint: Endpoint) -> None:
    """Resolve the policy, then void requests whose evidence changed; the endpoint is locked."""
    policies.refresh_policy(endpoint)
    expiry.void_changed_requests(endpoint)
