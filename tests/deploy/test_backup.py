"""Backup and restore as docs/operations.md describes it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from psycopg import sql

from dashboard.models import Run
from dashboard.runs import attempts, credentials, schedule
from dashboard.runs import services as runs
from dashboard.trust import finish
from launcher.binaries import postgres_folder
from probes.secret import Secret
from tests.dashboard.runs.builders import build_attempt, start_next_run
from tests.deploy.table_rows import count_rows
from tests.factories import make_endpoint
from tests.live import ROOT, celery_worker, environment, eventually

pytestmark = pytest.mark.django_db(transaction=True)


def run_program(name: str, *arguments: str) -> None:
    subprocess.run([postgres_folder() / name, *arguments], check=True, capture_output=True)


def address(database: str) -> str:
    return environment()["DATABASE_URL"].rpartition("/")[0] + f"/{database}"


@pytest.fixture
def restored(tmp_path: Path) -> Iterator[str]:
    """An empty database beside the present one."""
    restored = f"{connection.settings_dict['NAME']}_restored"
    name = sql.Identifier(restored)
    with psycopg.connect(address("postgres"), autocommit=True) as server:
        server.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(name))
        server.execute(sql.SQL("CREATE DATABASE {}").format(name))
        yield restored
        server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


def test_a_restored_backup_has_everything_and_goes_on(
    restored: str, tmp_path: Path, vendor_url: str
) -> None:
    """Rows, partitions and sequences are the same; keys decrypt; a waiting run is executed."""
    endpoint = make_endpoint(base_url=f"{vendor_url}/open/v1", model="sim-steady")
    credentials.store_key(endpoint, Secret("sim-key-0123456789"))
    schedule.schedule_due()
    lease = start_next_run()
    for trial in (1, 2, 3):
        attempts.record_attempt(lease, build_attempt(trial))
    finish.finish_run(lease)
    runs.request_run(endpoint, by=None)
    connection.close()

    dump = tmp_path / "toolgauge.dump"
    present = environment()["DATABASE_URL"]
    run_program("pg_dump", "--format=custom", f"--file={dump}", present)
    run_program("pg_restore", "--exit-on-error", f"--dbname={address(restored)}", str(dump))

    assert count_rows(address(restored)) == count_rows(present)
    checked = subprocess.run(
        [sys.executable, "manage.py", "migrate", "--check"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": address(restored)},
        check=False,
        capture_output=True,
    )
    assert checked.returncode == 0, checked.stderr
    with celery_worker(tmp_path / "worker.log", DATABASE_URL=address(restored)):
        eventually(lambda: finished_in(restored) == 2)
    assert Run.objects.filter(state="finished").count() == 1


def finished_in(database: str) -> int:
    with psycopg.connect(address(database)) as session:
        row = session.execute(
            "SELECT count(*) FROM dashboard_run WHERE state = 'finished'"
        ).fetchone()
    return int(row[0]) if row else 0
