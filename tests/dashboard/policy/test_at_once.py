"""Concurrent changes of policies, and their notifications."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from django.db import connection, connections, transaction

from dashboard.models import Endpoint, PolicyVersion
from dashboard.trust import modes, policies, tool_rules
from dashboard.trust.settle import settle
from health.modes import Mode
from health.risk import Risk
from tests.dashboard.policy.builders import effective_modes, make_trusted_endpoint, read_policy
from tests.live import environment, eventually

pytestmark = pytest.mark.django_db(transaction=True)


def own_connection(work: Callable[..., Any]) -> Callable[..., Any]:
    """Close the database connection of the thread after the work."""

    def wrapped(*arguments: Any) -> Any:
        try:
            return work(*arguments)
        finally:
            connections.close_all()

    return wrapped


def test_modes_switched_concurrently_are_all_in_the_policy() -> None:
    """Every resolution includes the changes before it; versions grow in the order of changes."""
    endpoint = make_trusted_endpoint()
    switched = [mode for mode in Mode if mode is not Mode.NO_TOOLS]

    @own_connection
    def switch(mode: Mode) -> None:
        profile = Endpoint.objects.get(pk=endpoint.pk).profile
        modes.switch_on(profile, mode, by=None, reason="trying")

    with ThreadPoolExecutor(len(switched)) as pool:
        list(pool.map(switch, switched))

    assert effective_modes(endpoint) == [mode.value for mode in switched]
    versions = list(PolicyVersion.objects.order_by("at").values_list("version", flat=True))
    assert versions == sorted(versions)
    assert read_policy(endpoint).version == versions[-1]
    manual_counts = [
        len(v.body["modes"]["manual"]) for v in PolicyVersion.objects.order_by("version")
    ]
    assert manual_counts == [0, 0, 1, 2, 3, 4, 5, 6]


def test_a_rule_added_while_a_policy_is_resolved_is_not_lost() -> None:
    """The edit waits for the transaction with the old rules, and then renews that policy too."""
    endpoint = make_trusted_endpoint()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            settle(Endpoint.objects.select_for_update().get(pk=endpoint.pk))
            addition = pool.submit(
                own_connection(lambda: tool_rules.add_rule(pattern="a", risk=Risk.READ, by=None))
            )
            eventually(_is_lock_awaited)
        addition.result()

    assert read_policy(endpoint).body["risk"]["rules"] == [{"pattern": "a", "risk": "read"}]


def test_a_change_is_notified_when_it_is_committed() -> None:
    """A listener gets slug and version once, and nothing for what was rolled back."""
    with psycopg.connect(environment()["DATABASE_URL"], autocommit=True) as listener:
        listener.execute(f"LISTEN {policies.CHANNEL}")
        endpoint = make_trusted_endpoint()
        with transaction.atomic():
            modes.switch_on(endpoint.profile, Mode.NO_TOOLS, by=None, reason="never mind")
            transaction.set_rollback(True)
        modes.switch_on(endpoint.profile, Mode.NO_PARALLEL, by=None, reason="trying")

        notifications = [json.loads(n.payload) for n in listener.notifies(timeout=30, stop_after=3)]

    versions = list(PolicyVersion.objects.order_by("version").values_list("version", flat=True))
    assert [each["version"] for each in notifications] == versions
    assert {each["endpoint"] for each in notifications} == {"steady"}


def _is_lock_awaited() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        return cursor.fetchone() is not None
