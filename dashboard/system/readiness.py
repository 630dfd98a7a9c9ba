"""The readiness of this process."""

from __future__ import annotations

from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor


def readiness_problems() -> list[str]:
    """The problems as sentences; empty if ready."""
    try:
        executor = MigrationExecutor(connection)
        plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except Error as exc:
        return [f"The database does not answer: {type(exc).__name__}."]
    return [f"{len(plan)} migrations are not applied."] if plan else []
