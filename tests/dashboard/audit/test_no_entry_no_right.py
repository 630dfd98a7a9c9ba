"""Modes, people, roles, teams and tokens: an action without an audit entry does not happen."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction

from dashboard.core.sql import execute
from dashboard.models import ApiToken, Endpoint, Grant, ModeSwitch, Team
from dashboard.models.people import Role
from dashboard.people.services import people, roles, teams, tokens
from dashboard.people.services.people import InvitedRights
from dashboard.trust import modes
from health.modes import Mode
from tests.dashboard.audit.builders import all_rows, link_now, refuse_inserts
from tests.factories import make_endpoint, make_person


def _ada() -> User:
    return User.objects.get(username="ada")


def _bob() -> User:
    return User.objects.get(username="bob")


ACTIONS: dict[str, Callable[[], object]] = {
    "modes.switch_on": lambda: modes.switch_on(
        Endpoint.objects.get().profile, Mode.NO_TOOLS, by=_ada(), reason="careful"
    ),
    "modes.switch_off": lambda: modes.switch_off(ModeSwitch.objects.get(), by=_ada(), reason="x"),
    "people.invite": lambda: people.invite_person(
        username="new", rights=InvitedRights(roles=[Role.VIEWER]), by=_ada()
    ),
    "people.deactivate": lambda: people.deactivate_person(_bob(), by=_ada()),
    "roles.give": lambda: roles.give_role(_bob(), role=Role.APPROVER, by=_ada()),
    "roles.take": lambda: roles.take_role(Grant.objects.get(), by=_ada()),
    "roles.set_administrator": lambda: roles.set_administrator(
        _bob(), administrator=True, by=_ada()
    ),
    "teams.make": lambda: teams.create_team(name="new", by=_ada()),
    "teams.rename": lambda: teams.rename_team(Team.objects.get(), name="other", by=_ada()),
    "teams.move": lambda: teams.move_endpoints(
        [Endpoint.objects.get()], team=Team.objects.get(), by=_ada()
    ),
    "tokens.issue": lambda: tokens.issue_token(name="new", scopes=["read"], by=_ada()),
    "tokens.revoke": lambda: tokens.revoke_token(ApiToken.objects.get()),
}


@pytest.fixture
def rows(db: None) -> None:
    """One of everything that can be acted upon."""
    ada = User.objects.create_superuser("ada")
    make_person("bob", Role.OPERATOR)
    Team.objects.create(name="blue")
    modes.switch_on(make_endpoint().profile, Mode.NO_PARALLEL, by=ada, reason="careful")
    tokens.issue_token(name="ci", scopes=["read"], by=ada)
    link_now()


@pytest.mark.usefixtures("rows")
def test_a_right_that_cannot_be_written_down_is_not_given() -> None:
    """If the entry is refused, no row changes; otherwise there is one more entry."""
    before = all_rows()
    for name, act in ACTIONS.items():
        mark = transaction.savepoint()
        act()
        link_now()
        after = all_rows()
        assert len(after["dashboard_auditlink"]) > len(before["dashboard_auditlink"]), name
        transaction.savepoint_rollback(mark)

    refuse_inserts("dashboard_auditentry")
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    for name, act in ACTIONS.items():
        with pytest.raises(DatabaseError, match="closed"):
            act()
        assert all_rows() == before, name
