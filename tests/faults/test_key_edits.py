"""F10: the profile key changes repeatedly during a run."""

from __future__ import annotations

from tests.faults.invariants import violations
from tests.faults.servers import NAMES
from tests.faults.stack import Stack, eventually

EDIT = """
from dashboard.models import Endpoint
from dashboard.endpoints.services import endpoints
endpoint = Endpoint.objects.get(slug="e0")
for address in {addresses}:
    endpoints.update(endpoint, key=None, forget_key=False, base_url=address)
"""


def test_only_the_last_of_five_keys_is_measured(stack: Stack) -> None:
    """After five edits during a run only a run of the last key finishes."""
    stack.wake(1, milliseconds=1500)
    stack.worker("worker")
    eventually(lambda: stack.attempts() >= 1)

    addresses = [stack.vendor.address(name) for name in NAMES[10:15]]
    stack.python(EDIT.format(addresses=addresses))
    eventually(lambda: "finished" in stack.states())

    runs = stack.sql("SELECT key_epoch FROM dashboard_run WHERE state = 'finished'")
    measured = stack.sql(
        "SELECT DISTINCT p.epoch FROM dashboard_runmetric m"
        " JOIN dashboard_profile p ON p.id = m.profile_id"
    )
    current = stack.sql(
        "SELECT p.epoch FROM dashboard_profile p JOIN dashboard_endpoint e ON e.id = p.endpoint_id"
        " WHERE e.slug = 'e0' AND p.ended_at IS NULL"
    )
    assert runs == measured == current == [(6,)]
    assert violations(stack.url) == []
