"""The audit log is append-only, even for its owner."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from importlib import import_module

import pytest
from django.db import DatabaseError, connection, transaction

from dashboard.audit import chain, database_role
from dashboard.core import partitions
from dashboard.core.errors import Refused
from dashboard.core.sql import execute, fetch_row
from dashboard.endpoints.services import endpoints
from dashboard.models import AuditEntry, AuditLink, Endpoint
from dashboard.notifications.services import maintenance
from dashboard.people.services import tokens
from dashboard.runs import services as runs
from dashboard.system import retention
from dashboard.trust import modes
from health.modes import Mode
from tests.dashboard.audit.builders import link_now, record_entries
from tests.factories import make_endpoint

CHANGES = (
    "UPDATE dashboard_auditentry SET body = body",
    "UPDATE dashboard_auditentry SET at_us = 0",
    "DELETE FROM dashboard_auditentry",
    "TRUNCATE dashboard_auditentry, dashboard_auditlink",
    "UPDATE dashboard_auditlink SET digest = previous",
    "DELETE FROM dashboard_auditlink",
    "TRUNCATE dashboard_auditlink",
)
# Further statements that a role which only runs the product may not execute.
TRICKS = (
    "INSERT INTO dashboard_auditentry (body, at_us) VALUES ('{}', 1)",
    "INSERT INTO dashboard_auditlink VALUES (99, 99, '', '')",
    "INSERT INTO dashboard_auditturn VALUES (1)",
    "ALTER TABLE dashboard_auditentry DISABLE TRIGGER ALL",
    "DROP TABLE dashboard_auditlink",
    "CREATE OR REPLACE FUNCTION dashboard_audit_refuse() RETURNS trigger LANGUAGE plpgsql "
    "AS 'BEGIN RETURN NEW; END'",
    "SET session_replication_role = replica",
)


def refusal(statement: str) -> str:
    """Why the statement was refused."""
    with pytest.raises(DatabaseError) as caught, transaction.atomic():
        execute(statement)
    return str(caught.value)


@pytest.fixture
def role(transactional_db: None) -> Iterator[str]:
    """A fresh role that is no superuser and owns nothing."""
    name = f"plain_{secrets.token_hex(4)}"
    execute(f"CREATE ROLE {name} LOGIN PASSWORD '{name}'")
    yield name
    execute(f"REASSIGN OWNED BY {name} TO CURRENT_USER")
    execute(f"DROP OWNED BY {name}")
    execute(f"DROP ROLE {name}")


@contextmanager
def connected_as(name: str) -> Iterator[None]:
    """The block uses a connection of that role."""
    original = {field: connection.settings_dict[field] for field in ("USER", "PASSWORD")}
    try:
        connection.close()
        connection.settings_dict |= {"USER": name, "PASSWORD": name}
        assert fetch_row("SELECT current_user") == (name,)
        yield
    finally:
        connection.close()
        connection.settings_dict |= original


@pytest.mark.django_db
@pytest.mark.parametrize("session", ["origin", "replica"])
def test_the_role_that_owns_the_log_cannot_change_it(session: str) -> None:
    """UPDATE, DELETE and TRUNCATE are refused by triggers, of entries and links alike."""
    record_entries("one")
    link_now()
    execute(f"SET LOCAL session_replication_role = {session}")

    for change in CHANGES:
        assert "the audit log can only be added to" in refusal(change), change
    assert (AuditEntry.objects.count(), AuditLink.objects.count()) == (1, 1)


@pytest.mark.django_db
def test_nobody_chooses_when_an_entry_was_made() -> None:
    """The time is the database's own, whatever is inserted."""
    execute(
        "INSERT INTO dashboard_auditentry (at_us, body) "
        """VALUES (1, '{"action": "a", "actor": {"name": "b"}}')"""
    )
    assert fetch_row(
        "SELECT abs(at_us / 1e6 - extract(epoch FROM statement_timestamp())) < 600 "
        "FROM dashboard_auditentry"
    ) == (True,)


def test_a_role_with_ordinary_grants_is_stopped_by_the_triggers(role: str) -> None:
    """Even with all grants, the triggers refuse changes."""
    execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}")
    with transaction.atomic():
        record_entries("one")

    with connected_as(role):
        for change in CHANGES:
            assert "the audit log can only be added to" in refusal(change), change
        with transaction.atomic():
            record_entries("two")
        assert chain.verify_chain().is_good


def test_a_role_that_only_runs_the_product_has_no_right_over_the_log(role: str) -> None:
    """It can do what web and workers do and add entries; its grants refuse everything else."""
    for _ in range(2):  # as after every migration
        database_role.grant_role(role)

    with connected_as(role):
        endpoint = make_endpoint()
        modes.switch_on(endpoint.profile, Mode.NO_TOOLS, by=None, reason="careful")
        tokens.issue_token(name="ci", scopes=["read"], by=None)
        run = runs.request_run(endpoint, by=None)
        runs.cancel_run(run, by="the test")
        assert not maintenance.is_in_maintenance(endpoint.pk)
        endpoints.remove(endpoint)
        partitions.ensure_months([date(2019, 1, 1)], parents=["dashboard_rollup5m"])
        assert "dashboard_rollup5m_201901" in retention.drop_expired_partitions()
        for statement in (*CHANGES, *TRICKS):
            why = refusal(statement)
            assert "permission denied" in why or "must be owner" in why, statement
        verdict = chain.verify_chain()

    assert verdict.is_good
    assert verdict.links == AuditEntry.objects.count() >= 4
    assert Endpoint.objects.get().removed_at is not None


@pytest.mark.django_db
def test_a_role_that_nothing_would_bind_is_refused() -> None:
    """Superusers, the owner and unknown roles are refused."""
    for name in (str(connection.settings_dict["USER"]), "nobody_at_all"):
        with pytest.raises(Refused):
            database_role.grant_role(name)


@pytest.mark.django_db
def test_the_log_works_where_its_owner_is_no_superuser() -> None:
    """Entries are linked with only the rights that the migration leaves to its owner."""
    sql = import_module("dashboard.migrations.0017_audit_log")
    for statement in (
        "CREATE ROLE plain_owner",
        "CREATE SCHEMA audited AUTHORIZATION plain_owner",
        "SET LOCAL ROLE plain_owner",
        "SET LOCAL search_path = audited",
        sql.TABLES,
        sql.TRIGGERS,
    ):
        execute(statement)

    record_entries("one", "two")
    link_now()

    assert fetch_row("SELECT count(*) FROM audited.dashboard_auditlink") == (2,)
    assert chain.verify_chain().is_good
    for change in CHANGES:
        assert "permission denied" in refusal(change), change
    execute("RESET ROLE")
