"""Changes to a test's own database that make faults likely or waits short."""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString

from tests.faults.stack import Stack


def speed_up_clock(stack: Stack) -> None:
    """Divide every wait of an endpoint by 600: 30 minutes become 3 seconds."""
    stack.sql(_FASTER_CLOCK)


def slow_down_finish(stack: Stack, *, seconds: float = 0.15) -> None:
    """Slow down half of the finishing transactions, and mark them with an advisory lock."""
    stack.sql("CREATE TABLE finish_takes AS SELECT %s::float8 AS seconds", seconds)
    stack.sql(_SLOWER_FINISH)


def slow_down_record(stack: Stack, *, seconds: float) -> None:
    """Slow down storing the third attempt of a run, and mark it with an advisory lock."""
    stack.sql("CREATE TABLE record_takes AS SELECT %s::float8 AS seconds", seconds)
    stack.sql(_SLOWER_RECORD)


def is_slowed(stack: Stack) -> bool:
    """Whether a slowed transaction is running now."""
    locks = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = 6006"
    return bool(stack.sql(locks))


def slow_down_start(stack: Stack) -> None:
    """Keep some runs leased for a moment before they run."""
    stack.sql(_SLOWER_START)


def make_finish_fail(stack: Stack, codes: Sequence[str]) -> None:
    """Make the finishing transaction fail halfway, once with each of these errors."""
    stack.sql("CREATE SEQUENCE failures_made")
    stack.sql("CREATE TABLE failures_wanted AS SELECT %s::text[] AS codes", list(codes))
    stack.sql(_FAILING_FINISH)


def forget_due_time(stack: Stack) -> None:
    """Add the bug that our invariants must find: an abandoned run leaves its slot due."""
    stack.sql(_FORGOTTEN_DUE_TIME)


_FASTER_CLOCK: LiteralString = """
CREATE FUNCTION faster_clock() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.next_due_at <> OLD.next_due_at AND NEW.next_due_at > statement_timestamp() THEN
        NEW.next_due_at := statement_timestamp()
            + (NEW.next_due_at - statement_timestamp()) / 600;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER faster_clock BEFORE UPDATE ON dashboard_endpoint
    FOR EACH ROW EXECUTE FUNCTION faster_clock();
"""

# The lock is acquired once per run and released when its transaction ends.
_SLOWER_FINISH: LiteralString = """
CREATE FUNCTION slower_finish() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.run_id % 2 = 0 AND NOT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory'
            AND classid = 6006 AND objid = NEW.run_id::oid) THEN
        PERFORM pg_advisory_xact_lock_shared(6006, NEW.run_id::int);
        PERFORM pg_sleep(seconds) FROM finish_takes;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER slower_finish BEFORE INSERT ON dashboard_runmetric
    FOR EACH ROW EXECUTE FUNCTION slower_finish();
"""

_SLOWER_RECORD: LiteralString = """
CREATE FUNCTION slower_record() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT count(*) FROM dashboard_attempt a
            WHERE a.run_id = NEW.run_id AND a.run_at = NEW.run_at) = 2 THEN
        PERFORM pg_advisory_xact_lock_shared(6006, NEW.run_id::int);
        PERFORM pg_sleep(seconds) FROM record_takes;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER slower_record BEFORE INSERT ON dashboard_attempt
    FOR EACH ROW EXECUTE FUNCTION slower_record();
"""

_SLOWER_START: LiteralString = """
CREATE FUNCTION slower_start() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.id % 3 = 0 THEN PERFORM pg_sleep(0.15); END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER slower_start BEFORE UPDATE ON dashboard_run FOR EACH ROW
    WHEN (OLD.state = 'leased' AND NEW.state = 'running') EXECUTE FUNCTION slower_start();
"""

# Unlike a table, a sequence keeps its count when a transaction is rolled back.
_FAILING_FINISH: LiteralString = """
CREATE FUNCTION failing_finish() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE wanted text := (SELECT codes[nextval('failures_made')] FROM failures_wanted);
BEGIN
    IF wanted IS NOT NULL THEN
        RAISE EXCEPTION 'made to fail' USING ERRCODE = wanted;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER failing_finish BEFORE INSERT ON dashboard_runmetric
    FOR EACH ROW EXECUTE FUNCTION failing_finish();
"""

_FORGOTTEN_DUE_TIME: LiteralString = """
CREATE FUNCTION forgotten_due_time() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.next_due_at := OLD.next_due_at;
    RETURN NEW;
END $$;
CREATE TRIGGER forgotten_due_time BEFORE UPDATE ON dashboard_endpoint FOR EACH ROW
    WHEN (NEW.fruitless > OLD.fruitless) EXECUTE FUNCTION forgotten_due_time();
"""
