"""An action without an audit entry does not happen."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import DatabaseError, IntegrityError, transaction
from django.utils import timezone

from dashboard.charts import services as notes
from dashboard.core.sql import execute
from dashboard.demo.services import fleet
from dashboard.endpoints.services import endpoints
from dashboard.models import Channel, Endpoint, Incident, MaintenanceWindow, Note, Run, ToolRule
from dashboard.notifications.services import channels, maintenance
from dashboard.runs import services as runs
from dashboard.trust import detection, tool_rules
from health.risk import Risk
from probes.outcomes import Metric
from probes.secret import Secret
from tests.dashboard.audit.builders import all_rows, link_now, refuse_inserts
from tests.dashboard.incidents.builders import degrade
from tests.dashboard.notifications.builders import make_webhook
from tests.factories import make_endpoint, make_run

CLOSED = "ALTER TABLE {} ADD CONSTRAINT closed CHECK (false) NOT VALID"
URL = "http://127.0.0.1:9/hook"


def _window() -> None:
    maintenance.plan_window(
        None, timezone.now(), timezone.now() + timedelta(hours=2), by=None, reason="x"
    )


# Every action of people; the rows that it changes exist before.
ACTIONS: dict[str, Callable[[], object]] = {
    "endpoints.create": lambda: make_endpoint(slug="new", key=Secret("sk-0123456789abcdef")),
    "endpoints.update": lambda: endpoints.update(
        Endpoint.objects.get(slug="steady"), key=None, forget_key=False, model="m-2"
    ),
    "endpoints.remove": lambda: endpoints.remove(Endpoint.objects.get(slug="steady")),
    "runs.request": lambda: runs.request_run(Endpoint.objects.get(slug="idle"), by=None),
    "runs.cancel": lambda: runs.cancel_run(Run.objects.get(state="queued"), by="x"),
    "detection.accept": lambda: detection.accept_baseline(
        Endpoint.objects.get(slug="fallen").profile, Metric.PARSE_SUCCESS, by=None, note="x"
    ),
    "detection.release": lambda: detection.release_incident(
        Incident.objects.get(), by=None, note="x"
    ),
    "detection.acknowledge": lambda: detection.acknowledge_incident(
        Incident.objects.get(), by=None
    ),
    "channels.create": lambda: channels.create_channel(
        name="new", kind="webhook", url=URL, by=None
    ),
    "channels.change": lambda: channels.change_channel(Channel.objects.get(), name="another"),
    "channels.switch_off": lambda: channels.switch_off_channel(Channel.objects.get(), "gone"),
    "channels.rotate": lambda: channels.rotate_secret(Channel.objects.get()),
    "channels.remove": lambda: channels.remove_channel(Channel.objects.get()),
    "tool_rules.add": lambda: tool_rules.add_rule(pattern="new_*", risk=Risk.READ, by=None),
    "tool_rules.change": lambda: tool_rules.change_rule(
        ToolRule.objects.get(pattern="a_*"), pattern="c_*", risk=Risk.READ, note=""
    ),
    "tool_rules.move": lambda: tool_rules.move_rule(ToolRule.objects.get(pattern="a_*"), up=True),
    "tool_rules.remove": lambda: tool_rules.remove_rule(ToolRule.objects.get(pattern="a_*")),
    "maintenance.plan": _window,
    "maintenance.cancel": lambda: maintenance.cancel_window(
        MaintenanceWindow.objects.get(), by=None
    ),
    "notes.add": lambda: notes.add_note(
        Endpoint.objects.get(slug="steady"), at=None, text="x", by=None
    ),
    "notes.remove": lambda: notes.remove_note(Note.objects.get(), by=None),
    "demo.register": lambda: fleet.register_fleet("http://127.0.0.1:9"),
}


@pytest.fixture
def rows(db: None) -> None:
    """One of everything that can be acted upon."""
    steady = make_endpoint()
    make_endpoint(slug="idle")
    degrade(make_endpoint(slug="fallen"))
    make_run(steady)
    make_webhook(URL)
    for pattern in ("a_*", "b_*"):
        tool_rules.add_rule(pattern=pattern, risk=Risk.READ, by=None)
    _window()
    notes.add_note(steady, at=None, text="x", by=None)
    link_now()


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("table", ["dashboard_auditentry", "dashboard_auditlink"])
def test_an_action_that_cannot_be_written_down_does_not_happen(table: str) -> None:
    """If the entry or its link is refused, no row changes."""
    refuse_inserts(table)
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    before = all_rows()

    for name, act in ACTIONS.items():
        with pytest.raises(DatabaseError, match="closed"):
            act()
        assert all_rows() == before, name


@pytest.mark.usefixtures("rows")
def test_the_same_actions_happen_where_they_can_be_written_down() -> None:
    """The same actions succeed otherwise: the test above can fail."""
    before = all_rows()
    for name, act in ACTIONS.items():
        mark = transaction.savepoint()
        act()
        link_now()
        after = all_rows()
        assert len(after["dashboard_auditentry"]) > len(before["dashboard_auditentry"]), name
        assert len(after["dashboard_auditlink"]) == len(after["dashboard_auditentry"]), name
        transaction.savepoint_rollback(mark)


@pytest.mark.django_db(transaction=True)
def test_a_link_that_is_refused_at_the_commit_undoes_the_action() -> None:
    """Links are written at the commit; if that fails, the transaction is rolled back."""
    execute(CLOSED.format("dashboard_auditlink"))
    try:
        with pytest.raises(IntegrityError, match="closed"):
            make_endpoint()
    finally:
        execute("ALTER TABLE dashboard_auditlink DROP CONSTRAINT closed")

    assert not Endpoint.objects.exists()
