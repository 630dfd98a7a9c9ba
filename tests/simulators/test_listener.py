from __future__ import annotations

import socket

from simulators.listener import open_listener


def test_accepted_connections_send_at_once() -> None:
    """An answer in several writes does not wait for the client's acknowledgement."""
    with (
        open_listener("127.0.0.1", 0) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
