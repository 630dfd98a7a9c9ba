"""Parts shared by the statements that end a run or take it from its worker."""

from __future__ import annotations

from health.cadence import MOST_FRUITLESS

# No worker holds the run any more, and nothing of a day's budget is reserved for it.
RELEASE = """slot = NULL, lease_owner = NULL, lease_token = NULL, lease_expires_at = NULL,
        reserved_requests = 0, reserved_tokens = 0"""
# Of an endpoint after a run without a verdict: how many in a row, and its wait. The same as
# health.cadence.back_off, for any number of endpoints in one statement.
FRUITLESS = f"LEAST(fruitless + 1, {MOST_FRUITLESS})"
BACK_OFF = f"LEAST(ttl, %(fruitless_wait)s * power(2, LEAST(fruitless, {MOST_FRUITLESS})))"


def refund(held: str) -> str:
    """Give back what runs had reserved of their days' budgets; `held` names them in a WITH."""
    return f"""UPDATE dashboard_spend s SET requests = s.requests - {held}.reserved_requests,
        tokens = s.tokens - {held}.reserved_tokens
    FROM {held} WHERE s.endpoint_id = {held}.endpoint_id AND s.day = {held}.reserved_on"""  # noqa: S608 -- a name of our own
