"""The readiness of this process: whether it can serve pages, which includes writing rows."""

from __future__ import annotations

import shutil
from pathlib import Path

from django.conf import settings
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.template.defaultfilters import filesizeformat

from dashboard.core.database_errors import find_write_problem

# Four segments of Postgres's write-ahead log, which is on this disk where `./run` runs.
MIN_FREE_BYTES = 64 * 1024**2


def readiness_problems() -> list[str]:
    """The problems as sentences; empty if ready."""
    if problems := migration_problems():
        return problems
    return [problem for problem in (find_write_problem(), find_disk_problem()) if problem]


def migration_problems() -> list[str]:
    """Whether the database answers and its tables are those of this version."""
    try:
        executor = MigrationExecutor(connection)
        plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except Error as exc:
        return [f"The database does not answer: {type(exc).__name__}."]
    return [f"{len(plan)} migrations are not applied."] if plan else []


def find_disk_problem() -> str | None:
    """Whether the disk of the data folder is full."""
    folder, free = read_free_bytes()
    if free >= MIN_FREE_BYTES:
        return None
    return f"The disk of {folder} is full: {filesizeformat(free)} free. Free space on it."


def read_free_bytes() -> tuple[Path, int]:
    """The data folder, or the first of its parents that exists, and the bytes free on its disk."""
    path = Path(settings.DATA_DIR)
    folder = next(folder for folder in (path, *path.resolve().parents) if folder.exists())
    return folder, shutil.disk_usage(folder).free
