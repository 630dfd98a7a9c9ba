"""Where this installation may connect to: the rules of probes.egress_rules, from the settings."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

from django.conf import settings

from probes.egress_rules import EgressRules, parse_grants


def rules() -> EgressRules:
    """Public addresses and what EGRESS_GRANTS names, but never our own servers."""
    return EgressRules(parse_grants(settings.EGRESS_GRANTS), denied=frozenset(_own_servers()))


def _own_servers() -> Iterator[tuple[str, int]]:
    database = settings.DATABASES["default"]
    redis = urlsplit(settings.REDIS_URL)
    yield from _addresses(database["HOST"], int(database["PORT"] or 5432))
    yield from _addresses(redis.hostname or "", redis.port or 6379)


def _addresses(host: str, port: int) -> Iterator[tuple[str, int]]:
    if not host or host.startswith("/"):  # a socket in the file system, which nobody can be sent to
        return
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        # Our own server is not to be found at the moment; then neither can a name lead there.
        return
    for entry in found:
        yield str(entry[4][0]), port
