"""Where a product that runs on this machine has its servers, read from its data folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from launcher import ports
from launcher.postgres import NAME

_KEY_FILES = {"SECRET_KEY": "secret-key", "CREDENTIAL_KEYS": "credential-keys"}


def find_environment(folder: Path, given: Mapping[str, str]) -> dict[str, str]:
    """What a program beside the product needs and was not given; nothing is made or changed."""
    found = {"DATA_DIR": str(folder)} if folder.is_dir() else {}
    for name, file in _KEY_FILES.items():
        if (folder / file).is_file():
            found[f"{name}_FILE"] = str(folder / file)
    found |= _database(folder) | _broker(folder)
    return {name: value for name, value in found.items() if not _is_given(name, given)}


def _is_given(name: str, given: Mapping[str, str]) -> bool:
    plain = name.removesuffix("_FILE")
    return bool(given.get(plain) or given.get(f"{plain}_FILE"))


def _database(folder: Path) -> dict[str, str]:
    try:
        port = (folder / "postgres/data/postmaster.pid").read_text().splitlines()[3]
        password = (folder / "postgres-password").read_text().strip()
    except (OSError, IndexError):
        return {}
    url = f"postgresql://{NAME}:{password}@{ports.LOOPBACK}:{port.strip()}/{NAME}"
    return {"DATABASE_URL": url}


def _broker(folder: Path) -> dict[str, str]:
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
