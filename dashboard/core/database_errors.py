"""What an error of the database means, as a sentence with what to do."""

from __future__ import annotations

from django.db import Error, OperationalError, connection, transaction

DISK_FULL, READ_ONLY = "53100", "25006"
_SENTENCES = {
    DISK_FULL: "The disk of the database is full. Free space on it; work continues by itself.",
    READ_ONLY: "The database is read-only. Make it writable, or set DATABASE_URL to one that is.",
    "53300": "The database has no connection left. Raise max_connections, or run fewer processes.",
}
UNREACHABLE = "The database does not answer. Start it, or correct DATABASE_URL."


def explain_error(exc: Error) -> str:
    """One sentence for the log and for people; the error itself belongs beside it."""
    return known_problem(exc) or "The database reports an error. It is tried again later."


def known_problem(exc: Error) -> str | None:
    """The sentence about a problem of the server; None for any other error."""
    return UNREACHABLE if is_unreachable(exc) else _SENTENCES.get(_sql_state(exc) or "")


def is_unreachable(exc: Error) -> bool:
    """Whether there was no connection, or it was lost: the server gave no code."""
    return isinstance(exc, OperationalError) and _sql_state(exc) is None


def is_disk_full(exc: Error) -> bool:
    return _sql_state(exc) == DISK_FULL


def find_write_problem() -> str | None:
    """Why the database cannot be written to now; None if it can.

    A sort that does not fit into its memory shows whether there is space: it writes a temporary
    file, takes no lock and leaves nothing behind. A row might still fit into a page that exists.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL work_mem = '64kB'")
            cursor.execute(_SORT_ON_DISK)
            is_read_only, _ = cursor.fetchone()
    except Error as exc:
        return explain_error(exc)
    return _SENTENCES[READ_ONLY] if is_read_only else None


def _sql_state(exc: Error) -> str | None:
    return getattr(exc.__cause__, "sqlstate", None)


# About half a megabyte.
_SORT_ON_DISK = """
SELECT current_setting('transaction_read_only')::bool, count(filler)
FROM (SELECT repeat('x', 1000) AS filler FROM generate_series(1, 500) n ORDER BY -n OFFSET 1) sorted
"""
