"""Exchanges on their way to the database, in files that outlive the process.

A line is written before the client gets the last byte of its answer, so that a process that is
killed loses nothing that was answered. A closed file is one batch: its name is the batch id, so
that shipping it twice stores it once. Every process holds a lock on its own file; whoever finds a
file without one ships it.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

MAX_EVENTS = 1000
MAX_BYTES = 64 * 1024 * 1024
SUFFIX = ".jsonl"


@dataclass(frozen=True, slots=True)
class Batch:
    """The exchanges of one closed file."""

    id: UUID
    events: Sequence[Mapping[str, Any]]
    path: Path

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)


class Spool:
    """The files of one process in a folder that all processes share."""

    def __init__(self, folder: Path, *, max_bytes: int = MAX_BYTES) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._max_bytes = max_bytes
        self._file: int | None = None
        self._path = folder
        self._count = 0
        self.dropped = 0

    def add(self, event: Mapping[str, Any]) -> None:
        """Keep an exchange. On a full disk it is counted as dropped; the answer goes on."""
        line = json.dumps(event, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        try:
            self._write(line)
        except OSError:
            self.dropped += 1
            self.rotate()

    def rotate(self) -> None:
        """Close the current file, so that it can be shipped."""
        if self._file is not None:
            os.close(self._file)  # releases the lock
        self._file, self._count = None, 0

    def sync(self) -> None:
        """Wait until what was written would survive a crash of the machine."""
        if self._file is not None:
            os.fdatasync(self._file)

    def closed_batches(self) -> Iterator[Batch]:
        """The files that no process writes any more, oldest first."""
        for path in sorted(self._folder.glob(f"*{SUFFIX}"), key=_age):
            if (lines := _read_unlocked(path)) is not None:
                yield Batch(UUID(path.stem), lines, path)

    def size(self) -> int:
        return sum(path.stat().st_size for path in self._folder.glob(f"*{SUFFIX}"))

    def _write(self, line: bytes) -> None:
        if self._file is None:
            self._open()
        assert self._file is not None
        if os.write(self._file, line) != len(line):
            raise OSError("The disk is full.")
        self._count += 1
        if self._count >= MAX_EVENTS:
            self.rotate()

    def _open(self) -> None:
        if self.size() > self._max_bytes:
            raise OSError("The spool is full.")
        self._path = self._folder / f"{uuid4()}{SUFFIX}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(self._path, flags, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_EX)


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _read_unlocked(path: Path) -> list[Mapping[str, Any]] | None:
    """The lines of a file, or None while a process writes it or another one ships it."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return list(_whole_lines(file.read()))
    except (BlockingIOError, FileNotFoundError):
        return None


def _whole_lines(data: bytes) -> Iterator[Mapping[str, Any]]:
    """A line that a full disk or a crash has cut is no exchange."""
    for line in data.split(b"\n"):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event
