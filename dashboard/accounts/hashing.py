"""Hashing of passwords (PASSWORD_HASHERS): few at a time, without a database connection.

A hash takes about 100 MB and tenths of a second, by design. In this one place, whatever hashes or
checks a password, is how many can run at once and how many can wait.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from django.contrib.auth.hashers import Argon2PasswordHasher
from django.db import connections
from typing_extensions import override

Result = TypeVar("Result")


class HashingBusy(Exception):
    """Too many passwords are waiting to be hashed; this one was not looked at."""


class HashingQueue:
    """Runs `at_once` functions at a time; while `waiting` others wait, it refuses more."""

    def __init__(self, *, at_once: int, waiting: int) -> None:
        self.places = at_once + waiting
        self.places_taken = 0
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(at_once, "hashing", initializer=_lower_priority)

    def run(self, work: Callable[..., Result], *arguments: str) -> Result:
        _release_connections()
        with self._take_place():
            return self._threads.submit(work, *arguments).result()

    @contextmanager
    def _take_place(self) -> Iterator[None]:
        with self._lock:
            if self.places_taken >= self.places:
                raise HashingBusy
            self.places_taken += 1
        try:
            yield
        finally:
            with self._lock:
                self.places_taken -= 1


class QueuedArgon2Hasher(Argon2PasswordHasher):
    @override
    def encode(self, password: str, salt: str) -> str:
        return QUEUE.run(super().encode, password, salt)

    @override
    def verify(self, password: str, encoded: str) -> bool:
        return QUEUE.run(super().verify, password, encoded)


def _lower_priority() -> None:
    """Let pages go first: one hash would take all cores, by threads that inherit this."""
    if sys.platform == "linux":  # elsewhere it would hold for the whole process
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


def _release_connections() -> None:
    """Return this thread's connections to the pool: other requests need them meanwhile."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()


# Argon2 uses several cores for one hash, so that a second one at once would end no sooner.
QUEUE = HashingQueue(at_once=1, waiting=16)
