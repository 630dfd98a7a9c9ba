"""The wait after runs without a verdict, which SQL and the cadence both compute."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.core.sql import fetch_rows
from dashboard.runs.run_sql import BACK_OFF, FRUITLESS
from health.cadence import FRUITLESS_WAIT, MOST_FRUITLESS, back_off

TTL = timedelta(days=3)
_WAITS = f"""
SELECT fruitless, {FRUITLESS}, {BACK_OFF}
FROM (SELECT n AS fruitless, %(ttl)s AS ttl FROM generate_series(0, 25) n) endpoints
"""  # noqa: S608 -- statements of our own


@pytest.mark.django_db
def test_statements_wait_as_long_as_the_cadence() -> None:
    """The SQL of workers gives the same waits as the cadence that the demo uses."""
    waits = fetch_rows(_WAITS, {"ttl": TTL, "fruitless_wait": FRUITLESS_WAIT})

    assert waits == [(n, min(n + 1, MOST_FRUITLESS), back_off(n, TTL)) for n in range(26)]
