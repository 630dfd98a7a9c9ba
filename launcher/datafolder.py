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

LOCK = "run.lock"
# The length of the simulated history at the first start.
DEMO_HISTORY = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class DataFolder:
    """The paths in the data folder."""

    path: Path

    @property
    def logs(self) -> Path:
        return self.path / "log"

    def secret_key_file(self) -> Path:
        return self._create_once("secret-key", lambda: secrets.token_urlsafe(48))

    def credential_keys_file(self) -> Path:
        return self._create_once(
            "credential-keys", lambda: base64.b64encode(secrets.token_bytes(32)).decode()
        )

    def password(self, name: str) -> str:
        """Return a password that is created once and kept."""
        return self._create_once(name, lambda: secrets.token_urlsafe(24)).read_text().strip()

    def vendors_port(self) -> int:
        """Return the port of the simulated vendors, the same at every start."""
        port_text = (
            self._create_once("vendors-port", lambda: str(ports.free_port())).read_text().strip()
        )
        if not port_text.isdigit():
            raise LaunchError(
                f"{self.path / 'vendors-port'} holds no port number. Delete the file."
            )
        return int(port_text)

    def vendors_since(self, *, begin: bool) -> str | None:
        """Return the start of the simulated vendors' history, the same at every start.

        None if there is no history yet and `begin` is false.
        """
        if not begin and not (self.path / "vendors-since").exists():
            return None
        since = self._create_once("vendors-since", _demo_history_start).read_text().strip()
        try:
            datetime.fromisoformat(since)
        except ValueError as exc:
            raise LaunchError(
                f"{self.path / 'vendors-since'} holds no timestamp. Delete the file."
            ) from exc
        return since

    def _create_once(self, name: str, make: Callable[[], str]) -> Path:
        path = self.path / name
        if not path.exists():
            write_private(path, make() + "\n")
        return path


def _demo_history_start() -> str:
    return (datetime.now(UTC) - DEMO_HISTORY).isoformat(timespec="seconds")


def open_data_folder(path: Path) -> DataFolder:
    """Return the data folder; create it, private to this user, if it does not exist."""
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
    """Write a file atomically, readable only for this user."""
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    draft.replace(path)


@contextmanager
def lock_data_folder(data: DataFolder, url: str) -> Iterator[None]:
    """Lock the data folder; a second process gets an error that names the first."""
    with (data.path / LOCK).open("a+") as lock:
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
