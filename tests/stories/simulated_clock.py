"""One clock for the whole product that a test can move: the database's, and the vendors' with it.

The product asks the database what time it is, always by `statement_timestamp()`. In a database of
its own a test puts another function of that name before Postgres's.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, LiteralString

import httpx
import psycopg
from psycopg import sql

# Before any table is made: defaults of columns are bound to the function that they find.
_SCHEMA: LiteralString = """
CREATE TABLE simulated_clock (moved interval NOT NULL);
INSERT INTO simulated_clock VALUES ('0');
CREATE FUNCTION public.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS
    'SELECT pg_catalog.statement_timestamp() + moved FROM public.simulated_clock';
"""


def install(url: str, database: str) -> None:
    """Give an empty database the clock; whoever connects from now on reads it."""
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
        story = timedelta(seconds=self._vendors.get("/_clock").json()["now"])
        self.began = self.now() - story

    def now(self) -> datetime:
        found = self._session.execute("SELECT statement_timestamp()").fetchone()
        assert found is not None
        (moment,) = found
        assert isinstance(moment, datetime)
        return moment

    def day(self, moment: datetime) -> float:
        """Days since the story began."""
        return (moment - self.began) / timedelta(days=1)

    def move_to(self, moment: datetime) -> None:
        """Jump ahead; nothing happens where it is that late already."""
        ahead = moment - self.now()
        if ahead <= timedelta():
            return
        # The vendors first: a run that begins at the new time must meet them there.
        jump = {"advance": ahead.total_seconds()}
        self._vendors.post("/_clock", json=jump).raise_for_status()
        self._session.execute("UPDATE simulated_clock SET moved = moved + %s", [ahead])

    def close(self) -> None:
        self._vendors.close()
