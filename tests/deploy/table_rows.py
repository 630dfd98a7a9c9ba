"""The number of rows per table of a database."""

from __future__ import annotations

import psycopg
from psycopg import sql

TABLES = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') ORDER BY 1
"""


def count_rows(url: str) -> dict[str, int]:
    """Each partition counts separately."""
    counted = {}
    with psycopg.connect(url) as session:
        for (name,) in session.execute(TABLES).fetchall():
            query = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(name))
            row = session.execute(query).fetchone()
            counted[name] = int(row[0]) if row else -1
    return counted
