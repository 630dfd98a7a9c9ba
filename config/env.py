"""Typed reading of environment variables; a bad value stops the start and names the variable."""

from __future__ import annotations

import os
import re
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off", ""}
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def env_str(name: str, *, default: str) -> str:
    return os.environ.get(name, default)


def env_bool(name: str, *, default: bool) -> bool:
    text = os.environ.get(name)
    if text is None:
        return default
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise ImproperlyConfigured(f"{name} must be true or false, not {text!r}.")


def env_int(name: str, *, default: int, minimum: int = 0) -> int:
    text = os.environ.get(name, str(default))
    try:
        value = int(text)
    except ValueError as exc:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {text!r}.") from exc
    if value < minimum:
        raise ImproperlyConfigured(f"{name} must be at least {minimum}, not {value}.")
    return value


def env_duration(name: str, *, default: str) -> timedelta:
    """A number with a unit: 500ms is not one, 0.5s, 90s, 5m, 6h and 1d are."""
    text = os.environ.get(name, default).strip()
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text)
    if match is None:
        raise ImproperlyConfigured(
            f"{name} must be a duration such as 90s, 5m or 6h, not {text!r}."
        )
    return timedelta(seconds=float(match[1]) * _UNITS[match[2]])


def env_list(name: str, *, default: str = "") -> list[str]:
    return [item.strip() for item in os.environ.get(name, default).split(",") if item.strip()]


def env_servers(name: str) -> list[tuple[str, int]]:
    """Hosts with a port each: web:8000,[::1]:8001."""
    servers = []
    for item in env_list(name):
        host, _, port = item.rpartition(":")
        if not (host and port.isascii() and port.isdecimal() and 0 < int(port) < 65536):
            raise ImproperlyConfigured(f"{name} must look like web:8000,[::1]:8001, not {item!r}.")
        servers.append((host.strip("[]"), int(port)))
    return servers


def env_counts(name: str) -> dict[str, int]:
    """Names with a count of at least 1 each: ollama=1,openai=16."""
    counts = {}
    for item in env_list(name):
        key, _, number = item.partition("=")
        if not (number.isascii() and number.isdecimal() and int(number)):
            raise ImproperlyConfigured(f"{name} must look like ollama=1,openai=16, not {item!r}.")
        counts[key.strip()] = int(number)
    return counts


def env_rate(name: str, *, default: str) -> tuple[int, float]:
    """A rate such as 600/m as count and seconds; the unit is s, m or h."""
    text = os.environ.get(name, default)
    number, _, unit = text.partition("/")
    seconds = {"s": 1.0, "m": 60.0, "h": 3600.0}.get(unit)
    if seconds is None or not (number.isascii() and number.isdecimal() and int(number)):
        raise ImproperlyConfigured(f"{name} must look like 600/m, not {text!r}.")
    return int(number), seconds


def env_secret(name: str, *, default: str | None = None) -> str:
    """The variable itself, or the content of the file that NAME_FILE points to."""
    if value := os.environ.get(name):
        return value
    if path := os.environ.get(f"{name}_FILE"):
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except OSError as exc:
            raise ImproperlyConfigured(f"{name}_FILE cannot be read: {exc.strerror}.") from exc
    if default is not None:
        return default
    raise ImproperlyConfigured(f"Set {name}, or {name}_FILE to a file that holds it.")


# A network that drops packets must not block a worker for longer than its lease.
_TIMEOUTS = {
    "connect_timeout": "10",
    "keepalives_idle": "20",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",  # milliseconds
}


def env_database(name: str, *, default: str) -> dict[str, Any]:
    """A Django database entry from postgresql://user:password@host:port/name?option=value."""
    url = urlsplit(env_secret(name, default=default))
    if url.scheme not in {"postgres", "postgresql"} or not url.path.strip("/"):
        raise ImproperlyConfigured(
            f"{name} must look like postgresql://user:password@host:5432/name."
        )
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(url.path.lstrip("/")),
        "USER": unquote(url.username or ""),
        "PASSWORD": unquote(url.password or ""),
        "HOST": unquote(url.hostname or ""),
        "PORT": str(url.port or ""),
        "OPTIONS": {**_TIMEOUTS, **dict(parse_qsl(url.query))},
        # Works behind a pooler that gives each transaction another connection.
        "DISABLE_SERVER_SIDE_CURSORS": True,
    }
