"""The egress rules of this installation: probes.egress_rules, from the settings."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

from django.conf import settings

from probes.egress_rules import EgressRules, parse_grants


def read_egress_rules() -> EgressRules:
    """Public addresses and what EGRESS_GRANTS lists, but never our own database and broker."""
    return EgressRules(parse_grants(settings.EGRESS_GRANTS), denied=frozenset(_own_servers()))


def _own_servers() -> Iterator[tuple[str, int]]:
    database = settings.DATABASES["default"]
    redis = urlsplit(settings.REDIS_URL)
    yield from _resolve_addresses(database["HOST"], int(database["PORT"] or 5432))
    yield from _resolve_addresses(redis.hostname or "", redis.port or 6379)


def _resolve_addresses(host: str, port: int) -> Iterator[tuple[str, int]]:
    if not host or host.startswith("/"):  # a socket in the file system
        return
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        # The name of our server does not resolve, so no URL can lead there by name either.
        return
    for entry in entries:
        yield str(entry[4][0]), port
