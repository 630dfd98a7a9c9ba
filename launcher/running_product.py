"""The settings of a product that runs on this machine, for commands in another shell.

`./run` writes its settings to the data folder while it runs. Servers that somebody else started in
that folder, as tests do, are found by their own files.
"""

from __future__ import annotations

import fcntl
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from launcher import ports
from launcher.datafolder import LOCK, DataFolder, write_private
from launcher.postgres import NAME

ROOT = Path(__file__).resolve().parent.parent
WHERE = (
    "Start the product with ./run and try again. Run it where the product runs, with its "
    "DATABASE_URL, REDIS_URL, SECRET_KEY and CREDENTIAL_KEYS; or on the machine where ./run is "
    "running, with its data folder (--data-dir of toolgauge, DATA_DIR for manage.py)."
)
_ENVIRONMENT = "environment.json"
_KEY_FILES = {"SECRET_KEY": "secret-key", "CREDENTIAL_KEYS": "credential-keys"}


def default_folder(environment: Mapping[str, str]) -> Path:
    """The data folder that DATA_DIR names, or that of ./run in this checkout."""
    return Path(environment.get("DATA_DIR") or ROOT / "var")


@contextmanager
def publish_environment(data: DataFolder, environment: Mapping[str, str]) -> Iterator[None]:
    """Let commands in other shells find these settings until the end."""
    path = data.path / _ENVIRONMENT
    names = _setting_names()
    settings = {name: text for name, text in environment.items() if _base_name(name) in names}
    write_private(path, json.dumps(settings))
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def find_environment(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that another program needs to use the product and that are not set yet."""
    variables = {"DATA_DIR": str(folder)} if folder.is_dir() else {}
    for name, file in _KEY_FILES.items():
        if (folder / file).is_file():
            variables[f"{name}_FILE"] = str(folder / file)
    variables |= _database_environment(folder) | _broker_environment(folder)
    variables |= _published_environment(folder)
    return {name: value for name, value in variables.items() if not _is_set(name, environment)}


def _setting_names() -> set[str]:
    """The variables that .env.example explains, which are all that the settings read."""
    return set(re.findall(r"^(\w+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))


def _base_name(name: str) -> str:
    return name.removesuffix("_FILE")


def _is_set(name: str, environment: Mapping[str, str]) -> bool:
    base_name = _base_name(name)
    return bool(environment.get(base_name) or environment.get(f"{base_name}_FILE"))


def _published_environment(folder: Path) -> dict[str, str]:
    """The settings of ./run; none if it was killed and only its file is left."""
    if not _is_locked(folder / LOCK):
        return {}
    try:
        settings = json.loads((folder / _ENVIRONMENT).read_text())
    except (OSError, ValueError):
        return {}
    return {str(name): str(value) for name, value in settings.items()}


def _is_locked(path: Path) -> bool:
    try:
        with path.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


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
