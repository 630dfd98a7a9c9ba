"""A network between a worker and Postgres that can be cut silently."""

from __future__ import annotations

import socket
import threading
from types import TracebackType
from typing import Self

from launcher import ports

CHUNK = 65536


class Cable:
    """Forwards connections to a local port until it is cut."""

    def __init__(self, to_port: int, *, host: str = ports.LOOPBACK) -> None:
        self._to = (ports.LOOPBACK, to_port)
        self._passing = threading.Event()
        self._passing.set()
        self._ends: list[socket.socket] = []
        self._listener = socket.create_server((host, 0))
        self.port = int(self._listener.getsockname()[1])
        self._threads = [self._thread(self._accept)]

    def cut(self) -> None:
        """Pass no more bytes, without refusing or closing any connection."""
        self._passing.clear()

    def restore(self) -> None:
        """Pass bytes again, including those that were sent meanwhile."""
        self._passing.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._passing.set()
        accepting, *_ = self._threads
        # Closing a socket does not wake a thread that waits on it; shutting it down does.
        _shut_down(self._listener)
        # It may still connect a client that came while the cable was cut.
        accepting.join(10)
        for end in [self._listener, *self._ends]:
            _shut_down(end)
            end.close()
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        while True:
            try:
                client_side, _ = self._listener.accept()
            except OSError:
                return
            self._ends.append(client_side)
            self._passing.wait()
            try:
                server_side = socket.create_connection(self._to)
            except OSError:
                _shut_down(client_side)
                continue
            self._ends.append(server_side)
            self._threads += [
                self._thread(self._pass_on, client_side, server_side),
                self._thread(self._pass_on, server_side, client_side),
            ]

    def _pass_on(self, source: socket.socket, drain: socket.socket) -> None:
        try:
            while data := source.recv(CHUNK):
                self._passing.wait()
                drain.sendall(data)
        except OSError:
            pass
        self._passing.wait()
        _shut_down(drain)

    def _thread(self, work: object, *arguments: socket.socket) -> threading.Thread:
        assert callable(work)
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        thread.start()
        return thread


def _shut_down(end: socket.socket) -> None:
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
