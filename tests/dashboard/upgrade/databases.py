"""Temporary databases: created, described and dropped."""

from __future__ import annotations

import gzip
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from django.db import connection
from psycopg import sql

from launcher.binaries import postgres_folder
from tests.live import environment

TABLES = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1
"""

# Without partitions, which depend on the day.
SCHEMA = """
WITH ours AS (
    SELECT c.oid, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
)
SELECT concat_ws(' ', relname, attname, format_type(atttypid, atttypmod), attnotnull,
    attidentity, pg_get_expr(adbin, adrelid))
FROM ours JOIN pg_attribute ON attrelid = ours.oid AND attnum > 0 AND NOT attisdropped
LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
UNION ALL
SELECT pg_get_indexdef(indexrelid) FROM ours JOIN pg_index ON indrelid = ours.oid
UNION ALL
SELECT concat_ws(' ', relname, conname, pg_get_constraintdef(pg_constraint.oid))
FROM ours JOIN pg_constraint ON conrelid = ours.oid
UNION ALL
SELECT concat_ws(' ', pg_get_triggerdef(pg_trigger.oid), tgenabled)
FROM ours JOIN pg_trigger ON tgrelid = ours.oid AND NOT tgisinternal
UNION ALL
SELECT pg_get_functiondef(p.oid) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = 'public'
"""
# Postgres writes the casts of a list of texts in another place once a dump was loaded.
CASTS = re.compile(r"::(text|character varying)(\[\])?|[()]")


def database_url(database: str) -> str:
    return environment()["DATABASE_URL"].rpartition("/")[0] + f"/{database}"


@contextmanager
def empty_database(suffix: str) -> Iterator[str]:
    """The name of a database that exists inside the block."""
    name = f"{connection.settings_dict['NAME']}_{suffix}"
    quoted = sql.Identifier(name)
    with psycopg.connect(database_url("postgres"), autocommit=True) as server:
        server.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(quoted))
        server.execute(sql.SQL("CREATE DATABASE {}").format(quoted))
        try:
            yield name
        finally:
            server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(quoted))


@contextmanager
def connect_to(database: str) -> Iterator[None]:
    """Make Django use another database inside the block."""
    usual = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = database
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = usual


def load_dump(dump: Path, database: str) -> None:
    psql = [str(postgres_folder() / "psql"), "--quiet", "--no-psqlrc", "--set", "ON_ERROR_STOP=1"]
    text = gzip.decompress(dump.read_bytes())
    subprocess.run([*psql, database_url(database)], input=text, check=True, capture_output=True)


def rows_per_table(database: str) -> dict[str, int]:
    """A partitioned table counts once, with all its partitions."""
    counted = {}
    with psycopg.connect(database_url(database)) as session:
        for (name,) in session.execute(TABLES).fetchall():
            query = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(name))
            row = session.execute(query).fetchone()
            counted[name] = int(row[0]) if row else -1
    return counted


def schema_of(database: str) -> set[str]:
    """Columns, indexes, constraints, triggers and functions, each as text."""
    with psycopg.connect(database_url(database)) as session:
        return {CASTS.sub("", text) for (text,) in session.execute(SCHEMA).fetchall()}
