"""Helpers of the audit log's tests."""

from __future__ import annotations

from typing import Any

from dashboard.audit import services as audit
from dashboard.core.sql import execute, fetch_rows
from dashboard.models import AuditEntry
from dashboard.models.audit import Action

TABLES = """
SELECT c.relname FROM pg_class c WHERE c.relkind = 'r' AND pg_table_is_visible(c.oid)
    AND c.relname ~ '^(dashboard|auth)_' AND NOT c.relispartition ORDER BY 1
"""


def link_now() -> None:
    """Link the entries to the chain, as a commit does."""
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    execute("SET CONSTRAINTS ALL DEFERRED")


def refuse_inserts(table: str) -> None:
    """Make every insert into a table fail, as with a full disk, until the transaction ends."""
    execute(
        "CREATE FUNCTION pg_temp.closed() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'closed' USING ERRCODE = 'disk_full'; END $$"
    )
    execute(f"CREATE TRIGGER closed BEFORE INSERT ON {table} EXECUTE FUNCTION pg_temp.closed()")


def record_entries(*subjects: str) -> None:
    for subject in subjects:
        audit.record(Action.DEMO_CHANGED, subject=subject, after={"name": subject})


def all_entries() -> list[dict[str, Any]]:
    """All entries, the oldest first."""
    return [entry.parsed_body for entry in AuditEntry.objects.order_by("id")]


def last_entry() -> dict[str, Any]:
    return all_entries()[-1]


def all_rows() -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables, as text."""
    names = [name for (name,) in fetch_rows(TABLES)]
    return {name: fetch_rows(f"SELECT t::text FROM {name} t ORDER BY 1") for name in names}  # noqa: S608
