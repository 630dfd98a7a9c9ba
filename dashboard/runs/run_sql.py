"""SQL fragments of the statements that end a run or revoke its lease."""

from __future__ import annotations

from health.cadence import MOST_FRUITLESS

# Clears the lease, the slot and the reserved budget of a run.
RELEASE = """slot = NULL, lease_owner = NULL, lease_token = NULL, lease_expires_at = NULL,
        reserved_requests = 0, reserved_tokens = 0"""
# For an endpoint after a run without a verdict: the number of such runs in a row, and the wait.
# The same as health.cadence.back_off, for any number of endpoints in one statement.
FRUITLESS = f"LEAST(fruitless + 1, {MOST_FRUITLESS})"
BACK_OFF = f"LEAST(ttl, %(fruitless_wait)s * power(2, LEAST(fruitless, {MOST_FRUITLESS})))"


def refund_reservations(cte: str) -> str:
    """Return the reserved budget of runs; `cte` is the name of the CTE that selects them."""
    return f"""UPDATE dashboard_spend s SET requests = s.requests - {cte}.reserved_requests,
        tokens = s.tokens - {cte}.reserved_tokens
    FROM {cte} WHERE s.endpoint_id = {cte}.endpoint_id AND s.day = {cte}.reserved_on"""  # noqa: S608 -- a name of our own
