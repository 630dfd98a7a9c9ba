"""The socket that simulated vendors listen on."""

from __future__ import annotations

import socket


def open_listener(host: str, port: int) -> socket.socket:
    """Listen without Nagle's algorithm; port 0 picks a free one.

    asyncio turns it off only for listeners that it opens itself. Left on, an answer on a reused
    connection waits 40 ms for the client's delayed acknowledgement.
    """
    listener = socket.create_server((host, port), backlog=1024)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
