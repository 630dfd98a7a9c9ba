"""“Try it”: one request to an endpoint with the unsaved values of its form.

The web process sends it inside the request. A worker would need the values and the key stored
first, and the user would wait for a queue. Other requests are not held up: each has its own
thread, few tries run at once, a response is limited to 256 KiB and a try to TRY_TIMEOUT.
"""

from __future__ import annotations

from threading import BoundedSemaphore
from typing import Any

import structlog
from asgiref.sync import async_to_sync
from django.conf import settings
from django.utils.translation import gettext as _

from dashboard.core import egress_grants
from dashboard.core.egress_grants import HostPort
from dashboard.core.errors import Refused
from dashboard.core.sql import release_connection
from dashboard.models import Endpoint
from dashboard.runs import credentials
from probes.egress_rules import EgressRules
from probes.secret import Secret
from probes.target import Limits, Provider, Target, origin
from probes.transport import Transport
from probes.try_endpoint import TryResult, try_once

log = structlog.get_logger()

MAX_CONCURRENT_TRIES = 4
MAX_BYTES = 256 * 1024
CONNECT_S = 5.0

slots = BoundedSemaphore(MAX_CONCURRENT_TRIES)


def build_target(fields: dict[str, Any], key: Secret | None) -> Target:
    """The target of the form, with limits for an interactive request."""
    total = settings.TRY_TIMEOUT.total_seconds()
    return Target(
        provider=Provider(fields["provider"]),
        base_url=fields["base_url"],
        model=fields["model"],
        key=key,
        options=fields["options"],
        dialect=fields["dialect"],
        max_concurrency=1,
        limits=Limits(
            connect_s=min(CONNECT_S, total),
            first_byte_s=total,
            idle_s=total,
            total_s=total,
            max_bytes=MAX_BYTES,
        ),
    )


def stored_key(endpoint: Endpoint | None, base_url: str) -> Secret | None:
    """The stored key; None if the form has another origin, since saving would delete the key."""
    if endpoint is None or origin(base_url) != origin(endpoint.base_url):
        return None
    return credentials.read_key(endpoint)


def send_try(target: Target, *, served_at: HostPort) -> TryResult:
    """Send one request. Refuses if too many tries are in progress."""
    if not slots.acquire(blocking=False):
        raise Refused(_("Several endpoints are being tried just now. Try again in a moment."))
    try:
        rules = egress_grants.read_egress_rules(served_at=served_at)
        release_connection()
        result = async_to_sync(_send)(target, rules)
    finally:
        slots.release()
    error = type(result.error).__name__ if result.error else None
    log.info("endpoint tried", origin=origin(target.base_url), status=result.status, error=error)
    return result


async def _send(target: Target, rules: EgressRules) -> TryResult:
    async with Transport(target.limits, egress=rules) as transport:
        return await try_once(target, transport)
