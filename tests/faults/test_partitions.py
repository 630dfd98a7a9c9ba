"""F12: a worker is cut off from Postgres, but not from the model."""

from __future__ import annotations

import signal

from tests.faults.invariants import violations
from tests.faults.proxy import Cable
from tests.faults.stack import Stack, eventually


def test_a_worker_without_its_database_stops_and_another_resumes(stack: Stack) -> None:
    """Without a sign of the cut, the lease decides which worker continues."""
    other = stack.worker("other")
    eventually(lambda: other.has_logged("ready"))
    other.signal(signal.SIGSTOP)
    (name,) = stack.wake(1, milliseconds=400)
    with Cable(stack.servers.cluster.port) as cable:
        cut_off = stack.worker("cut_off", env=stack.database_env(cable.port))
        eventually(lambda: stack.attempts() >= 2)
        its_ports = {request.port for request in stack.vendor.requests(name)}
        cable.cut()
        other.signal(signal.SIGCONT)
        token = stack.value("SELECT lease_token FROM dashboard_run")
        eventually(
            lambda: stack.value("SELECT lease_token FROM dashboard_run") not in (None, token)
        )
        lost = stack.vendor.now()
        eventually(lambda: stack.all_finished(1))

        late = [
            request
            for request in stack.vendor.requests(name)
            if request.at > lost and request.port in its_ports
        ]
        cable.restore()
        eventually(lambda: cut_off.has_logged("lease lost"))

    assert late == []
    assert stack.value("SELECT claims FROM dashboard_run") >= 2
    assert violations(stack.url) == []
