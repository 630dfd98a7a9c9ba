"""The wait after runs without a verdict, which statements and the cadence both know."""

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
    """The demo plans by the one and workers by the other."""
    found = fetch_rows(_WAITS, {"ttl": TTL, "fruitless_wait": FRUITLESS_WAIT})

    assert found == [(n, min(n + 1, MOST_FRUITLESS), back_off(n, TTL)) for n in range(26)]
