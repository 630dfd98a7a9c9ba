"""A dedicated Postgres with two databases: few rows, and very many."""

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
def run_cluster() -> Iterator[postgres.Cluster]:
    """The cluster and its data are removed with the block; Django is set up on it."""
    folder = Path(tempfile.mkdtemp(prefix="toolgauge-pages-"))
    supervisor = Supervisor(lambda _line: None, StopRequest())
    try:
        home = open_data_folder(folder)
        cluster = postgres.open_cluster(home, durable=False)
        supervisor.bring_up([postgres.postgres_service(cluster, home.logs / "postgres.log")])
        postgres.ensure_database(cluster)
        _set_up(cluster, folder)
        yield cluster
    finally:
        supervisor.stop_all()
        shutil.rmtree(folder, ignore_errors=True)


def copy_database() -> None:
    """Copy the current database as the small one."""
    connection.close()
    with connection._nodb_cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {FEW} TEMPLATE {MANY}")


def use_database(database: str) -> None:
    connection.close()
    connection.settings_dict["NAME"] = database
    connection.ensure_connection()


def database_url(cluster: postgres.Cluster, database: str) -> str:
    return f"{cluster.url().removesuffix(MANY)}{database}"


def _set_up(cluster: postgres.Cluster, folder: Path) -> None:
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": cluster.url(),
        "SECRET_KEY": secrets.token_urlsafe(48),
        "CREDENTIAL_KEYS": base64.b64encode(secrets.token_bytes(32)).decode(),
        "STATIC_ROOT": str(folder / "static"),
        "PUBLIC_URL": "http://127.0.0.1",
        "LOG_LEVEL": "WARNING",
    }
    django.setup()
    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
