"""Who may use which endpoint: the token of a request, in any of the headers that clients use."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from dashboard.live.snapshot import LiveEndpoint, LiveToken, Snapshot
from gateway.refusal import Refusal

_TOKEN = re.compile(r"tg_([a-z0-9]{8})_[A-Za-z0-9_-]{43}")
# The same for an unknown token, a revoked one and one without the scope: nothing can be guessed.
_UNKNOWN = (
    "This API token is not known to Toolgauge's gateway. Make one with the scope 'gateway' under "
    "Settings, API tokens, and give it to your agent as its API key."
)


@dataclass(frozen=True, slots=True)
class Caller:
    """A token, and the endpoint that it uses."""

    token: LiveToken
    endpoint: LiveEndpoint


def find_caller(snapshot: Snapshot, slug: str, headers: Mapping[str, str]) -> Caller:
    """Check the token of a request; raises Refusal."""
    token = _find_token(snapshot, _sent_token(headers))
    endpoint = snapshot.endpoints.get(slug)
    if endpoint is None or not token.may_use(endpoint):
        message = f"This API token has no endpoint {slug[:60]!r}. Check the base URL of your agent."
        raise Refusal(404, message, "unknown_endpoint")
    return Caller(token, endpoint)


def usable_endpoints(snapshot: Snapshot, token: LiveToken) -> list[LiveEndpoint]:
    """The endpoints that a token may use."""
    return [each for each in snapshot.endpoints.values() if token.may_use(each)]


def _find_token(snapshot: Snapshot, text: str) -> LiveToken:
    match = _TOKEN.fullmatch(text)
    token = snapshot.tokens.get(match[1]) if match else None
    digest = hashlib.sha256(text.encode()).digest()
    if token is None or not hmac.compare_digest(token.digest, digest):
        raise Refusal(401, _UNKNOWN, "unknown_token")
    if token.expires_at is not None and token.expires_at <= datetime.now(UTC):
        raise Refusal(401, _UNKNOWN, "unknown_token")
    return token


def _sent_token(headers: Mapping[str, str]) -> str:
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    for name in ("x-api-key", "x-goog-api-key", "api-key"):
        if text := headers.get(name):
            return text.strip()
    return ""
