"""The data folder: one place for database, keys, logs and the lock; survives restarts."""

from __future__ import annotations

import base64
import fcntl
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from launcher import ports
from launcher.errors import LaunchError

# So much of a past the simulated vendors have when they are first started.
PAST = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class DataFolder:
    """Names of what lies in the data folder."""

    path: Path

    @property
    def logs(self) -> Path:
        return self.path / "log"

    def secret_key_file(self) -> Path:
        return self._once("secret-key", lambda: secrets.token_urlsafe(48))

    def credential_keys_file(self) -> Path:
        return self._once(
            "credential-keys", lambda: base64.b64encode(secrets.token_bytes(32)).decode()
        )

    def password(self, name: str) -> str:
        """Return a password that is made once and kept."""
        return self._once(name, lambda: secrets.token_urlsafe(24)).read_text().strip()

    def vendors_port(self) -> int:
        """Return the port on which the simulated vendors were registered, the same every time."""
        port_text = self._once("vendors-port", lambda: str(ports.free_port())).read_text().strip()
        if not port_text.isdigit():
            raise LaunchError(
                f"{self.path / 'vendors-port'} holds no port number. Delete the file."
            )
        return int(port_text)

    def vendors_since(self, *, begin: bool) -> str | None:
        """Return when the story of the simulated vendors began, the same every time.

        None where no start has begun it yet and this one shall not either.
        """
        if not begin and not (self.path / "vendors-since").exists():
            return None
        since = self._once("vendors-since", _a_past_ago).read_text().strip()
        try:
            datetime.fromisoformat(since)
        except ValueError as exc:
            raise LaunchError(
                f"{self.path / 'vendors-since'} holds no timestamp. Delete the file."
            ) from exc
        return since

    def _once(self, name: str, make: Callable[[], str]) -> Path:
        path = self.path / name
        if not path.exists():
            write_private(path, make() + "\n")
        return path


def _a_past_ago() -> str:
    return (datetime.now(UTC) - PAST).isoformat(timespec="seconds")


def open_data_folder(path: Path) -> DataFolder:
    """Return the data folder, made for us alone if it is not there yet."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as exc:
        raise LaunchError(
            f"The data folder {path} cannot be made: {exc.strerror}. "
            "Choose another with --data-dir."
        ) from exc
    if not os.access(path, os.W_OK | os.X_OK):
        raise LaunchError(
            f"The data folder {path} belongs to somebody else. Choose another with --data-dir."
        )
    return DataFolder(path.resolve())


def write_private(path: Path, text: str) -> None:
    """Write a file whole or not at all, readable to us alone."""
    half = path.with_name(path.name + ".new")
    half.unlink(missing_ok=True)
    with os.fdopen(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    half.replace(path)


@contextmanager
def locked(data: DataFolder, url: str) -> Iterator[None]:
    """Hold the data folder; whoever else tries is told who has it."""
    with (data.path / "run.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            lock.seek(0)
            raise LaunchError(
                f"Toolgauge is already running here ({lock.read().strip() or 'starting'}). "
                "Stop it first, or give this one another folder with --data-dir."
            ) from exc
        lock.truncate(0)
        lock.write(f"pid {os.getpid()}, {url}\n")
        lock.flush()
        yield
