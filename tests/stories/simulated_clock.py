"""A clock that a test can move: that of the database and of the simulated vendors.

The product reads the time from the database, always by `statement_timestamp()`. In its own database
a test puts a function of that name before the one of Postgres.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, LiteralString

import httpx
import psycopg
from psycopg import sql

# Before any table is created: column defaults are bound to the function that exists then.
_SCHEMA: LiteralString = """
CREATE TABLE simulated_clock (moved interval NOT NULL);
INSERT INTO simulated_clock VALUES ('0');
CREATE FUNCTION public.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS
    'SELECT pg_catalog.statement_timestamp() + moved FROM public.simulated_clock';
"""


def install_clock(url: str, database: str) -> None:
    """Install the clock in an empty database, for all later connections."""
    with psycopg.connect(url, autocommit=True) as session:
        session.execute(_SCHEMA)
        # Postgres's own functions come first unless the path says otherwise.
        path: LiteralString = "ALTER DATABASE {} SET search_path = public, pg_catalog"
        session.execute(sql.SQL(path).format(sql.Identifier(database)))


class SimulatedClock:
    """Moves the clock of a database and of the vendors by the same time."""

    def __init__(self, session: psycopg.Connection[Any], vendors: str) -> None:
        self._session = session
        self._vendors = httpx.Client(base_url=vendors, trust_env=False)
        elapsed = timedelta(seconds=self._vendors.get("/_clock").json()["now"])
        self.began = self.now() - elapsed

    def now(self) -> datetime:
        row = self._session.execute("SELECT statement_timestamp()").fetchone()
        assert row is not None
        (moment,) = row
        assert isinstance(moment, datetime)
        return moment

    def day(self, moment: datetime) -> float:
        """Days since the story began."""
        return (moment - self.began) / timedelta(days=1)

    def move_to(self, moment: datetime) -> None:
        """Jump ahead; does nothing if that time has passed."""
        ahead = moment - self.now()
        if ahead <= timedelta():
            return
        # The vendors first: a run at the new time must find them there.
        jump = {"advance": ahead.total_seconds()}
        self._vendors.post("/_clock", json=jump).raise_for_status()
        self._session.execute("UPDATE simulated_clock SET moved = moved + %s", [ahead])

    def close(self) -> None:
        self._vendors.close()
