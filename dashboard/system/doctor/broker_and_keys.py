"""Checks of the broker and the keys."""

from __future__ import annotations

from django.conf import settings

from dashboard.core import broker
from dashboard.core.broker import BrokerDown
from dashboard.core.errors import Refused
from dashboard.models import Endpoint
from dashboard.runs import credentials
from dashboard.system.doctor.check import Check, bad, count_noun, join_slugs, ok
from dashboard.system.queries import MAX_NAMED
from dashboard.system.state import NamedEndpoints

MIN_SECRET_LENGTH = 50
KEY_BYTES = 32


def redis() -> Check:
    try:
        server = broker.read_broker_server()
    except BrokerDown as exc:
        return bad(
            "redis",
            f"The broker does not answer: {exc}",
            "Start it, or set REDIS_URL to where it is. Runs start late meanwhile; none is lost.",
        )
    text = f"{server.kind} {server.version}, maxmemory-policy {server.eviction_policy}"
    if server.eviction_policy != "noeviction":
        return bad(
            "redis",
            f"{text}: it may throw messages away to make room.",
            "Set maxmemory-policy noeviction in its configuration.",
        )
    return ok("redis", f"{text}.")


def secret_key() -> Check:
    key = settings.SECRET_KEY
    if len(key) < MIN_SECRET_LENGTH or len(set(key)) < 10:
        return bad(
            "secret key",
            f"SECRET_KEY has {count_noun(len(key), 'character')}, which can be guessed."
            if len(key) < MIN_SECRET_LENGTH
            else "SECRET_KEY repeats a few characters, which can be guessed.",
            f"Set it to {MIN_SECRET_LENGTH} random characters or more. Everybody signs in again.",
        )
    return ok("secret key", f"{len(key)} characters.")


def credential_keys() -> Check:
    keys = settings.CREDENTIAL_KEYS
    if any(len(key) != KEY_BYTES for key in keys):
        return bad(
            "credential keys",
            f"A key of CREDENTIAL_KEYS is not {KEY_BYTES} bytes long.",
            f"Set each to the base64 of {KEY_BYTES} random bytes.",
        )
    if not keys:
        return bad(
            "credential keys",
            "CREDENTIAL_KEYS is empty, so no API key of an endpoint can be stored or read.",
            f"Set it, or CREDENTIAL_KEYS_FILE, to the base64 of {KEY_BYTES} random bytes.",
        )
    return ok("credential keys", f"{count_noun(len(keys), 'key')}; the first one seals.")


def stored_credentials() -> Check:
    """Decrypt every stored credential and discard the result."""
    endpoints = Endpoint.objects.kept().filter(credential__isnull=False).order_by("slug")
    locked = [endpoint.slug for endpoint in endpoints.iterator() if not _can_decrypt(endpoint)]
    if locked:
        named = NamedEndpoints(len(locked), tuple(locked[:MAX_NAMED]))
        return bad(
            "stored credentials",
            f"{count_noun(len(locked), 'credential')} of {endpoints.count()} cannot be opened: "
            f"{join_slugs(named)}.",
            "Put the key that sealed them back into CREDENTIAL_KEYS, or enter them again.",
        )
    return ok(
        "stored credentials",
        f"{count_noun(endpoints.count(), 'credential')}, none stays shut.",
    )


def _can_decrypt(endpoint: Endpoint) -> bool:
    try:
        credentials.read_key(endpoint)
    except (Refused, ValueError):
        return False
    return True
