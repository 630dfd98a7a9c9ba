"""The egress rules of this installation: probes.egress_rules, from the settings."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from functools import cache
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from django.conf import settings

from probes.egress_rules import EgressGrant, EgressRules, parse_grants
from probes.target import check_base_url

HostPort = tuple[str, int]
_LOOPBACK = {"127.0.0.0/8", "::1"}
_DEFAULT_PORTS = {"http": 80, "https": 443}


def read_egress_rules(*, served_at: HostPort | None = None) -> EgressRules:
    """Public addresses and what EGRESS_GRANTS lists, but never our own servers.

    `served_at` is where the web server received the current request, if there is one.
    """
    servers = {*_own_servers(), *([served_at] if served_at else [])}
    denied = {grant for host, port in servers for grant in _server_addresses(host, port)}
    grants = parse_grants(settings.EGRESS_GRANTS)
    return EgressRules(grants, tuple(denied), frozenset({_public_server()}))


def _own_servers() -> Iterator[HostPort]:
    """Database, broker, pages and gateway, as far as a setting names their address."""
    database = settings.DATABASES["default"]
    yield database["HOST"], int(database["PORT"] or 5432)
    redis = urlsplit(settings.REDIS_URL)
    yield redis.hostname or "", redis.port or 6379
    yield from settings.OWN_SERVERS
    # The address of a public name is often that of a proxy, which serves others too.
    host, port = _public_server()
    if any(ip_address(address).is_loopback for address in _resolve(host)):
        yield host, port


def _public_server() -> HostPort:
    parts = urlsplit(check_base_url(settings.PUBLIC_URL))
    return (parts.hostname or "").rstrip("."), parts.port or _DEFAULT_PORTS[parts.scheme]


def _server_addresses(host: str, port: int) -> Iterator[EgressGrant]:
    """The addresses of a server: every address of this machine if it runs here."""
    addresses, here = _resolve(host), _addresses_of_this_machine()
    if addresses & here or any(ip_address(address).is_loopback for address in addresses):
        addresses |= _LOOPBACK | here
    return (EgressGrant(ip_network(address), port, port) for address in addresses)


@cache
def _addresses_of_this_machine() -> frozenset[str]:
    return frozenset(_resolve(socket.gethostname()))


def _resolve(host: str) -> set[str]:
    if not host or host.startswith("/"):  # a socket in the file system
        return set()
    try:
        entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        # The name of our server does not resolve, so no URL can lead there by name either.
        return set()
    return {str(entry[4][0]).partition("%")[0] for entry in entries}
