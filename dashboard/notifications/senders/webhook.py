"""Sends signed webhooks (Standard Webhooks)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from asgiref.sync import async_to_sync
from standardwebhooks.webhooks import Webhook

from dashboard.notifications.senders.delivery_message import Message, SendResult
from probes.egress_rules import EgressDenied, EgressRules
from probes.errors import ProbesError, TargetError
from probes.http_messages import WireRequest, WireResponse
from probes.http_reply import retry_after
from probes.secret import Secret
from probes.target import Limits
from probes.transport import Transport

# Only the status of a response matters.
MAX_RESPONSE_BYTES = 64 * 1024
_TEMPORARY_STATUSES = frozenset({408, 409, 425, 429})
_GONE_STATUS = 410


@dataclass(frozen=True, slots=True)
class WebhookSigner:
    """Signs with all current secrets at one moment."""

    secrets: Sequence[Secret]
    now: datetime  # in UTC

    def signatures(self, message: Message, body: str) -> str:
        hooks = (Webhook(secret.reveal()) for secret in self.secrets)
        return " ".join(hook.sign(str(message.id), self.now, body) for hook in hooks)


def send_webhook(
    url: Secret, message: Message, *, signer: WebhookSigner, within: timedelta, rules: EgressRules
) -> SendResult:
    """Send once. The signature covers id, time and body."""
    body = message.as_json()
    headers = {
        "content-type": "application/json",
        "webhook-id": str(message.id),
        "webhook-timestamp": str(int(signer.now.timestamp())),
        "webhook-signature": signer.signatures(message, body),
    }
    request = WireRequest("POST", url.reveal(), headers, body.encode())
    if urlsplit(url.reveal()).scheme != "https":
        # Plain HTTP only to addresses that an administrator granted.
        rules = replace(rules, public=False)
    return async_to_sync(_post)(request, within.total_seconds(), rules)


async def _post(request: WireRequest, seconds: float, rules: EgressRules) -> SendResult:
    limits = Limits(
        connect_s=seconds,
        first_byte_s=seconds,
        idle_s=seconds,
        total_s=seconds,
        max_bytes=MAX_RESPONSE_BYTES,
    )
    try:
        async with Transport(limits, egress=rules) as transport:
            return _send_result(await transport.send(request))
    except ProbesError as exc:
        if exc.received is not None:
            # The status of a response that is too long or too slow still counts.
            return _send_result(exc.received)
        is_final = isinstance(exc, EgressDenied | TargetError)
        return SendResult(is_sent=False, error=exc.message, is_final=is_final)


def _send_result(response: WireResponse) -> SendResult:
    status = response.status
    if 200 <= status < 300:
        return SendResult(is_sent=True, status=status)
    if status == _GONE_STATUS:
        error = "The receiver answered 410: it wants no more."
        return SendResult(is_sent=False, status=status, error=error, is_final=True, is_gone=True)
    if 300 <= status < 400:
        error = (
            f"The receiver answered {status} and sends us elsewhere; redirects are not followed."
        )
        return SendResult(is_sent=False, status=status, error=error, is_final=True)
    return SendResult(
        is_sent=False,
        status=status,
        error=f"The receiver answered {status}.",
        is_final=400 <= status < 500 and status not in _TEMPORARY_STATUSES,
        retry_after_s=retry_after(response),
    )
