"""A Postgres of this program's own with two databases: few rows, and very many."""

from __future__ import annotations

import base64
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import django
from django.core.management import call_command
from django.db import connection

from launcher import postgres
from launcher.datafolder import open_data_folder
from launcher.supervisor import StopRequest, Supervisor

MANY = postgres.NAME
FEW = f"{MANY}_few"


@contextmanager
def cluster() -> Iterator[postgres.Cluster]:
    """It and its data go away with the block; Django is set up on it."""
    folder = Path(tempfile.mkdtemp(prefix="toolgauge-pages-"))
    supervisor = Supervisor(lambda _line: None, StopRequest())
    try:
        home = open_data_folder(folder)
        found = postgres.open_cluster(home, durable=False)
        supervisor.bring_up([postgres.postgres_service(found, home.logs / "postgres.log")])
        postgres.ensure_database(found)
        _set_up(found, folder)
        yield found
    finally:
        supervisor.stop_all()
        shutil.rmtree(folder, ignore_errors=True)


def copy() -> None:
    """Keep the database as it is now under the name of the small one."""
    connection.close()
    with connection._nodb_cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {FEW} TEMPLATE {MANY}")


def use(database: str) -> None:
    connection.close()
    connection.settings_dict["NAME"] = database
    connection.ensure_connection()


def url_of(found: postgres.Cluster, database: str) -> str:
    return f"{found.url().removesuffix(MANY)}{database}"


def _set_up(found: postgres.Cluster, folder: Path) -> None:
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": found.url(),
        "SECRET_KEY": secrets.token_urlsafe(48),
        "CREDENTIAL_KEYS": base64.b64encode(secrets.token_bytes(32)).decode(),
        "STATIC_ROOT": str(folder / "static"),
        "PUBLIC_URL": "http://127.0.0.1",
        "LOG_LEVEL": "WARNING",
    }
    django.setup()
    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
