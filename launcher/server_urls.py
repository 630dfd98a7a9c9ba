"""Whether DATABASE_URL and REDIS_URL lead to servers that let us in; if not, what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
import redis
from psycopg.conninfo import conninfo_to_dict
from redis.backoff import NoBackoff
from redis.retry import Retry

from launcher.errors import LaunchError

CONNECT_SECONDS = 10


class WrongServer(LaunchError):
    """A URL leads to no server of ours. `may_come_back`: a broker that is down, not a wrong one."""

    def __init__(self, message: str, *, may_come_back: bool = False) -> None:
        super().__init__(message)
        self.may_come_back = may_come_back


def check_database(url: str) -> None:
    """Connect to Postgres once, or raise WrongServer."""
    try:
        parameters = conninfo_to_dict(url)
    except psycopg.ProgrammingError as exc:
        message = "DATABASE_URL must look like postgresql://user:password@host:5432/name."
        raise WrongServer(message) from exc
    check_database_settings(parameters)


def check_database_settings(parameters: Mapping[str, Any]) -> None:
    """Connect with libpq's parameters, of which some others are ignored."""
    names = ("host", "port", "user", "password", "dbname", "sslmode", "sslrootcert")
    known = {name: parameters[name] for name in names if parameters.get(name)}
    try:
        psycopg.connect(**known, connect_timeout=CONNECT_SECONDS).close()
    except psycopg.OperationalError as exc:
        raise WrongServer(explain_database_error(exc)) from exc


def explain_database_error(exc: Exception) -> str:
    """One sentence with what to do; libpq's own words name the address and no password."""
    reason = str(exc).strip().splitlines()[0].removeprefix("connection failed: ").rstrip(".")
    return (
        f"Postgres cannot be reached: {reason}. Start it, or correct DATABASE_URL "
        "(postgresql://user:password@host:5432/name)."
    )


def check_broker(url: str) -> None:
    """Ping Redis once, or raise WrongServer."""
    example = "redis://:password@host:6379/0"
    try:
        client = redis.Redis.from_url(
            url,
            retry=Retry(NoBackoff(), 0),
            socket_connect_timeout=CONNECT_SECONDS,
            socket_timeout=CONNECT_SECONDS,
        )
        client.ping()
        client.close()
    except ValueError as exc:
        raise WrongServer(f"REDIS_URL must look like {example}.") from exc
    except redis.RedisError as exc:
        message = f"Redis cannot be used: {str(exc).rstrip('.')}. "
        message += f"Start it, or correct REDIS_URL ({example})."
        raise WrongServer(message, may_come_back=_is_down(exc)) from exc


def _is_down(exc: redis.RedisError) -> bool:
    """Whether the server may come back as it is: refused, silent, loading, or without space."""
    if isinstance(exc, redis.AuthenticationError | redis.exceptions.AuthorizationError):
        return False
    if isinstance(exc, redis.ResponseError):
        return not str(exc).startswith(("NOAUTH", "WRONGPASS", "NOPERM", "ERR"))
    # A host name that does not resolve is a wrong one.
    return "not known" not in str(exc) and "resolution" not in str(exc)
