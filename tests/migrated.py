"""A migrated database, made once per test run and copied by every process that needs one."""

from __future__ import annotations

import os

import psycopg
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from psycopg import sql

# xdist gives all processes of a run the same name.
TEMPLATE = f"migrated_{os.environ.get('PYTEST_XDIST_TESTRUNUID', os.getpid())}"
LOCK = 16_016


def copy_database(name: str) -> None:
    """Make a database with the tables and partitions of a product that was just started."""
    with _server() as session:
        session.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        if not session.execute(_KNOWN, [TEMPLATE]).fetchone():
            _make_template(session)
        session.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
        _execute(session, "CREATE DATABASE {} TEMPLATE {}", name, TEMPLATE)


def drop_database(name: str) -> None:
    with _server() as session:
        _execute(session, "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)


def connect_to(name: str) -> None:
    """Let Django's connection reach another database of the same server."""
    connection.close()
    settings.DATABASES["default"]["NAME"] = connection.settings_dict["NAME"] = name


def _make_template(session: psycopg.Connection[tuple[object, ...]]) -> None:
    """Migrate a database and give it its name at the end, so that a half one never counts."""
    from dashboard.core import partitions

    half = f"half_{TEMPLATE}"
    _execute(session, "DROP DATABASE IF EXISTS {}", half)
    _execute(session, "CREATE DATABASE {}", half)
    connect_to(half)
    call_command("migrate", verbosity=0)
    partitions.ensure_partitions()
    connection.close()
    _execute(session, "ALTER DATABASE {} RENAME TO {}", half, TEMPLATE)


def _server() -> psycopg.Connection[tuple[object, ...]]:
    database = connection.settings_dict
    return psycopg.connect(
        host=database["HOST"],
        port=database["PORT"],
        user=database["USER"],
        password=database["PASSWORD"],
        dbname="postgres",
        autocommit=True,
    )


def _execute(session: psycopg.Connection[tuple[object, ...]], statement: str, *names: str) -> None:
    session.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


_KNOWN = "SELECT 1 FROM pg_database WHERE datname = %s"
