"""What several processes do to policies at the same time, and what they hear of it."""

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
from tests.dashboard.policy.builders import current, effective, trusted
from tests.live import environment, eventually

pytestmark = pytest.mark.django_db(transaction=True)


def own_connection(work: Callable[..., Any]) -> Callable[..., Any]:
    """Threads have connections of their own, which somebody must close."""

    def working(*arguments: Any) -> Any:
        try:
            return work(*arguments)
        finally:
            connections.close_all()

    return working


def test_modes_switched_at_once_are_all_in_the_policy() -> None:
    """Nobody resolves without what the other one did; versions grow in the order of changes."""
    endpoint = trusted()
    wanted = [mode for mode in Mode if mode is not Mode.NO_TOOLS]

    @own_connection
    def switch(mode: Mode) -> None:
        profile = Endpoint.objects.get(pk=endpoint.pk).profile
        modes.switch_on(profile, mode, by=None, reason="trying")

    with ThreadPoolExecutor(len(wanted)) as pool:
        list(pool.map(switch, wanted))

    assert effective(endpoint) == [mode.value for mode in wanted]
    versions = list(PolicyVersion.objects.order_by("at").values_list("version", flat=True))
    assert versions == sorted(versions)
    assert current(endpoint).version == versions[-1]
    grown = [len(v.body["modes"]["manual"]) for v in PolicyVersion.objects.order_by("version")]
    assert grown == [0, 0, 1, 2, 3, 4, 5, 6]


def test_a_rule_that_comes_while_somebody_resolves_is_not_lost() -> None:
    """The edit waits for the one who read the old rules, and then reaches that policy too."""
    endpoint = trusted()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            settle(Endpoint.objects.select_for_update().get(pk=endpoint.pk))
            adding = pool.submit(
                own_connection(lambda: tool_rules.add_rule(pattern="a", risk=Risk.READ, by=None))
            )
            eventually(_somebody_waits)
        adding.result()

    assert current(endpoint).body["risk"]["rules"] == [{"pattern": "a", "risk": "read"}]


def test_a_change_is_notified_when_it_is_committed() -> None:
    """A listener hears the name and the version, once, and nothing of what was rolled back."""
    with psycopg.connect(environment()["DATABASE_URL"], autocommit=True) as listening:
        listening.execute(f"LISTEN {policies.CHANNEL}")
        endpoint = trusted()
        with transaction.atomic():
            modes.switch_on(endpoint.profile, Mode.NO_TOOLS, by=None, reason="never mind")
            transaction.set_rollback(True)
        modes.switch_on(endpoint.profile, Mode.NO_PARALLEL, by=None, reason="trying")

        heard = [json.loads(n.payload) for n in listening.notifies(timeout=30, stop_after=3)]

    told = list(PolicyVersion.objects.order_by("version").values_list("version", flat=True))
    assert [each["version"] for each in heard] == told
    assert {each["endpoint"] for each in heard} == {"steady"}


def _somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        return cursor.fetchone() is not None
