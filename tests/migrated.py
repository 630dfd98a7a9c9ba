"""A migrated database, created once per test run and copied by every process and server."""

from __future__ import annotations

import os
import subprocess
from urllib.parse import quote

import psycopg
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from psycopg import sql

from launcher.binaries import postgres_folder

# xdist gives all processes of a run the same name.
TEMPLATE = f"migrated_{os.environ.get('PYTEST_XDIST_TESTRUNUID', os.getpid())}"
LOCK = 16_016


def copy_database(name: str) -> None:
    """Create a database with the tables and partitions of a new installation."""
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
    """Point Django's connection at another database of the same server."""
    connection.close()
    settings.DATABASES["default"]["NAME"] = connection.settings_dict["NAME"] = name


def copy_tables(url: str) -> None:
    """Fill an empty database, of any server, with the tables and partitions of the copied one."""
    database = connection.settings_dict
    login = f"{quote(database['USER'])}:{quote(database['PASSWORD'])}"
    source = f"postgresql://{login}@{database['HOST']}:{database['PORT']}/{TEMPLATE}"
    programs = postgres_folder()
    dump = subprocess.run(
        [programs / "pg_dump", "--no-owner", source], check=True, stdout=subprocess.PIPE
    ).stdout
    psql = [str(programs / "psql"), "--quiet", "--no-psqlrc", "--set", "ON_ERROR_STOP=1", url]
    # Names are found as they are by the migrations, on the path of that database.
    statements = dump.replace(_NO_PATH, b"")
    subprocess.run(psql, input=statements, check=True, stdout=subprocess.DEVNULL)


def _make_template(session: psycopg.Connection[tuple[object, ...]]) -> None:
    """Migrate a database and rename it at the end, so that a partial one is never used."""
    from dashboard.core import partitions

    draft = f"half_{TEMPLATE}"
    _execute(session, "DROP DATABASE IF EXISTS {}", draft)
    _execute(session, "CREATE DATABASE {}", draft)
    connect_to(draft)
    call_command("migrate", verbosity=0)
    partitions.ensure_partitions()
    connection.close()
    _execute(session, "ALTER DATABASE {} RENAME TO {}", draft, TEMPLATE)


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


_NO_PATH = b"SELECT pg_catalog.set_config('search_path', '', false);"
_KNOWN = "SELECT 1 FROM pg_database WHERE datname = %s"
