"""The audit log can be added to and read; nobody changes it, not even whoever owns it."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, transaction

from dashboard.models import AuditEntry, AuditLink
from dashboard.models.audit import Action
from dashboard.services import audit
from dashboard.services.statements import execute

pytestmark = pytest.mark.django_db

CHANGES = [
    "UPDATE dashboard_auditentry SET body = body",
    "UPDATE dashboard_auditentry SET at_us = 0",
    "DELETE FROM dashboard_auditentry",
    "TRUNCATE dashboard_auditentry, dashboard_auditlink",
    "UPDATE dashboard_auditlink SET digest = previous",
    "DELETE FROM dashboard_auditlink",
    "TRUNCATE dashboard_auditlink",
]


def link_now() -> None:
    """What a commit does."""
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    execute("SET CONSTRAINTS ALL DEFERRED")


def refusal(statement: str) -> str:
    """Why the statement was refused."""
    with pytest.raises(DatabaseError) as caught, transaction.atomic():
        execute(statement)
    return str(caught.value)


@pytest.mark.parametrize("session", ["origin", "replica"])
def test_the_role_that_owns_the_log_cannot_change_it(session: str) -> None:
    """UPDATE, DELETE and TRUNCATE are refused by triggers, of entries and links alike."""
    audit.record(Action.DEMO_CHANGED, subject="the demo")
    link_now()
    execute(f"SET LOCAL session_replication_role = {session}")

    for change in CHANGES:
        assert "the audit log can only be added to" in refusal(change), change
    assert (AuditEntry.objects.count(), AuditLink.objects.count()) == (1, 1)
