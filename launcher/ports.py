"""Loopback ports: finding free ones, and requesting a page."""

from __future__ import annotations

import http.client
import random
import socket
from urllib.parse import urlsplit

LOOPBACK = "127.0.0.1"

# Below the ranges of outgoing connections, so that the port of a restarting service stays free.
CANDIDATES = range(20_000, 32_000)


# Servers are given their ports before any of them listens.
_given: set[int] = set()


def free_port() -> int:
    """Return a port without a listener, and never the same one twice."""
    # SystemRandom: two starts must not choose alike, even if a seed was set.
    for port in random.SystemRandom().sample(CANDIDATES, 50):
        if port not in _given and is_free(port):
            _given.add(port)
            return port
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    """Return whether a server could listen on this loopback port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def page_status(port: int, path: str, public_url: str) -> int | None:
    """Request a page under the public host name, which may be the only allowed one."""
    public = urlsplit(public_url)
    return http_status(port, path, {"Host": public.netloc, "X-Forwarded-Proto": public.scheme})


def http_status(port: int, path: str, headers: dict[str, str] | None = None) -> int | None:
    """Return the status of a loopback HTTP server, or None while it does not answer."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=2)
    try:
        connection.request("GET", path, headers=headers or {})
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
