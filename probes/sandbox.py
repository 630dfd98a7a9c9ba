"""Confines a process that runs third-party code on user input.

For honest code that is misled by its input: it connects only where the rules allow, starts no
program, writes no file and reads none but its own. Code that attacks its own process could escape;
only the operating system can prevent that.
"""

from __future__ import annotations

import os
import resource
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from probes.egress_rules import EgressDenied, EgressRules

MAX_MEMORY = 1536 * 1024 * 1024
MAX_CPU_S = 30

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_READABLE = tuple(
    os.path.realpath(path)
    for path in (sys.prefix, sys.base_prefix, "/usr/share/zoneinfo", os.devnull)
)
_CONNECTING = ("socket.connect", "socket.sendto", "socket.sendmsg")
_SPAWNING = (
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "subprocess.Popen",
)


def confine_process(rules: EgressRules) -> list[str]:
    """Confine this process and all its threads for good; returns the refused connections.

    The check is below every library: Python calls it before each connection, also after a redirect
    or a changed DNS answer.
    """
    refused: list[str] = []
    checks = _checks(rules)

    def audit(event: str, args: tuple[Any, ...]) -> None:
        if (check := checks.get(event)) is None:
            return
        try:
            check(args)
        except EgressDenied as exc:
            if event in _CONNECTING:
                refused.append(exc.message)
            # Libraries handle this as an ordinary network or file error.
            raise PermissionError(exc.message) from exc

    _set_limits()
    sys.addaudithook(audit)
    return refused


def _checks(rules: EgressRules) -> Mapping[str, Callable[[tuple[Any, ...]], None]]:
    def connect(args: tuple[Any, ...]) -> None:
        sock, address = args[0], args[1]
        if address is None:  # a message over a connection that was already checked
            return
        if sock.family not in (socket.AF_INET, socket.AF_INET6):
            raise EgressDenied("Only addresses of the network can be connected to.")
        rules.check(str(address[0]), address[1])

    return {
        **dict.fromkeys(_CONNECTING, connect),
        **dict.fromkeys(_SPAWNING, _deny_program),
        "open": _deny_foreign_files,
    }


def _deny_program(args: tuple[Any, ...]) -> None:
    raise EgressDenied("No program is started from here.")


def _deny_foreign_files(args: tuple[Any, ...]) -> None:
    path, _mode, flags = args
    if isinstance(path, int):
        return
    real = os.path.realpath(os.fsdecode(path))
    is_own = any(real == folder or real.startswith(f"{folder}/") for folder in _READABLE)
    if flags & _WRITING or not is_own:
        raise EgressDenied("No file is read or written from here.")


def _set_limits() -> None:
    with suppress(ValueError, OSError):  # not every system can limit the address space
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_S, MAX_CPU_S))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
