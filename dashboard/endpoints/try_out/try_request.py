"""“Try it”: one request to an endpoint with the values of its form, before they are saved.

It is sent by the web process inside the request, not by a worker: a worker would need the values
and the key written down somewhere first, and a person would wait for a queue. Others do not wait
for it: each request has a thread of its own, only a few tries are let in at once, the answer is
read up to a quarter of a megabyte, and all of it ends within TRY_TIMEOUT.
"""

from __future__ import annotations

from threading import BoundedSemaphore
from typing import Any

import structlog
from asgiref.sync import async_to_sync
from django.conf import settings
from django.utils.translation import gettext as _

from dashboard.core import egress_grants
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

AT_ONCE = 4
MAX_BYTES = 256 * 1024
CONNECT_S = 5.0

places = BoundedSemaphore(AT_ONCE)


def target_of(fields: dict[str, Any], key: Secret | None) -> Target:
    """What the form describes, with limits that a waiting person can bear."""
    total = settings.TRY_TIMEOUT.total_seconds()
    return Target(
        provider=Provider(fields["provider"]),
        base_url=fields["base_url"],
        model=fields["model"],
        key=key,
        options=fields["options"],
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
    """The endpoint's stored key, unless the form leads elsewhere: saving would delete it then."""
    if endpoint is None or origin(base_url) != origin(endpoint.base_url):
        return None
    return credentials.read_key(endpoint)


def ask(target: Target) -> TryResult:
    """Send the one request. Refuses where too many others are under way."""
    if not places.acquire(blocking=False):
        raise Refused(_("Several endpoints are being tried just now. Try again in a moment."))
    try:
        rules = egress_grants.read_egress_rules()
        release_connection()
        tried = async_to_sync(_ask)(target, rules)
    finally:
        places.release()
    trouble = type(tried.error).__name__ if tried.error else None
    log.info("endpoint tried", origin=origin(target.base_url), status=tried.status, error=trouble)
    return tried


async def _ask(target: Target, rules: EgressRules) -> TryResult:
    async with Transport(target.limits, egress=rules) as transport:
        return await try_once(target, transport)
