"""The servers of a product that runs on this machine, read from its data folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from launcher import ports
from launcher.postgres import NAME

_KEY_FILES = {"SECRET_KEY": "secret-key", "CREDENTIAL_KEYS": "credential-keys"}


def find_environment(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that another program needs to use the product and that are not set yet."""
    variables = {"DATA_DIR": str(folder)} if folder.is_dir() else {}
    for name, file in _KEY_FILES.items():
        if (folder / file).is_file():
            variables[f"{name}_FILE"] = str(folder / file)
    variables |= _database_environment(folder) | _broker_environment(folder)
    return {name: value for name, value in variables.items() if not _is_set(name, environment)}


def _is_set(name: str, environment: Mapping[str, str]) -> bool:
    base_name = name.removesuffix("_FILE")
    return bool(environment.get(base_name) or environment.get(f"{base_name}_FILE"))


def _database_environment(folder: Path) -> dict[str, str]:
    try:
        port = (folder / "postgres/data/postmaster.pid").read_text().splitlines()[3]
        password = (folder / "postgres-password").read_text().strip()
    except (OSError, IndexError):
        return {}
    url = f"postgresql://{NAME}:{password}@{ports.LOOPBACK}:{port.strip()}/{NAME}"
    return {"DATABASE_URL": url}


def _broker_environment(folder: Path) -> dict[str, str]:
    try:
        lines = (folder / "valkey/valkey.conf").read_text().splitlines()
    except OSError:
        return {}
    settings = dict(line.split(" ", 1) for line in lines if " " in line)
    if not {"port", "requirepass"} <= settings.keys():
        return {}
    return {
        "REDIS_URL": f"redis://:{settings['requirepass']}@{ports.LOOPBACK}:{settings['port']}/0"
    }
