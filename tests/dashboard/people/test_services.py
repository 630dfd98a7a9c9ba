"""Services of people, roles and teams: the last administrator, races, and audit entries."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils import timezone

from dashboard.core.errors import Refused
from dashboard.core.permissions import RIGHTS, Right, user_actor
from dashboard.models import AuditEntry, Grant, Invitation, RolloutRequest, Team
from dashboard.models.people import Role
from dashboard.people.services import invitations, people, roles, teams
from dashboard.people.services.people import InvitedRights
from dashboard.people.text import roles_label
from tests.factories import make_endpoint, make_person

CHOSEN = "a long enough sentence 7"
VIEWER = InvitedRights(roles=[Role.VIEWER])
PAGE = Path(__file__).resolve().parents[3] / "docs" / "people.md"


@pytest.fixture(autouse=True)
def _quick_hashes(settings: Any) -> None:
    """Fast hashes: their cost is not tested here."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def root(db: None) -> User:
    return User.objects.create_superuser("root")


def all_entries() -> list[tuple[Any, ...]]:
    """Every audit entry: action, subject, actor, reason, before and after."""
    return [
        (
            entry.action,
            entry.parsed_body["subject"],
            entry.actor,
            entry.parsed_body["reason"],
            entry.parsed_body["before"],
            entry.parsed_body["after"],
        )
        for entry in AuditEntry.objects.order_by("id")
    ]


def end_by_deactivating(last: User, by: User) -> Any:
    return people.deactivate_person(last, by=by)


def end_by_revoking(last: User, by: User) -> Any:
    return roles.set_administrator(last, administrator=False, by=by)


@pytest.mark.parametrize("end", [end_by_deactivating, end_by_revoking])
def test_the_last_administrator_stays(end: Callable[[User, User], Any], root: User) -> None:
    """Deactivated people and people who never followed their link do not count."""
    by = User.objects.create_user("by")
    User.objects.create_superuser("gone", is_active=False)
    link = people.invite_person(username="eve", rights=InvitedRights(administrator=True), by=root)

    with pytest.raises(Refused, match="the last administrator"):
        end(root, by)
    invitations.accept_invitation(link.text, password=CHOSEN)
    end(root, by)

    remaining = User.objects.filter(is_superuser=True, is_active=True)
    assert [person.username for person in remaining] == ["eve"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("end", [end_by_deactivating, end_by_revoking])
def test_two_administrators_cannot_remove_each_other_at_once(
    end: Callable[[User, User], Any],
) -> None:
    """One of the two stays, whatever the timing."""
    first, second = (User.objects.create_superuser(name) for name in ("first", "second"))

    run_concurrently(lambda: end(first, second), lambda: end(second, first))

    assert User.objects.filter(is_active=True, is_superuser=True).count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_link_is_used_once_however_two_meet() -> None:
    """One password is set, and the other request is refused."""
    root = User.objects.create_superuser("root")
    link = people.invite_person(username="bob", rights=VIEWER, by=root)

    refused = run_concurrently(
        lambda: invitations.accept_invitation(link.text, password=CHOSEN),
        lambda: invitations.accept_invitation(link.text, password="another sentence 8"),
    )

    assert len(refused) == 1
    assert Invitation.objects.filter(used_at__isnull=False).count() == 1


def run_concurrently(*doings: Callable[[], Any]) -> list[Refused]:
    start, refused = threading.Barrier(len(doings)), list[Refused]()

    def do(doing: Callable[[], Any]) -> None:
        start.wait()
        try:
            doing()
        except Refused as exc:
            refused.append(exc)
        finally:
            connection.close()

    threads = [threading.Thread(target=do, args=[doing]) for doing in doings]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return refused


def test_only_the_hash_of_a_link_is_kept_and_one_is_open_at_a_time(root: User) -> None:
    """The table does not contain the link; a new link ends the previous one."""
    first = people.invite_person(username="bob", rights=VIEWER, by=root)
    invitation = Invitation.objects.get()
    assert bytes(invitation.digest) == hashlib.sha256(first.text.encode()).digest()
    # 43 characters of 64 kinds are 256 bits and more.
    assert len(first.text) == len("tg_invite_") + 43

    second = people.create_password_link(first.person, by=root)

    assert invitations.find_invitation(first.text) is None
    assert invitations.find_invitation(second.text) is not None
    people.deactivate_person(first.person, by=root)
    assert invitations.find_invitation(second.text) is None
    assert first.text not in str(all_entries())


def test_everything_is_written_down(root: User) -> None:
    """Actor, subject, before and after of every action; no password, no link."""
    team = teams.create_team(name="Search", by=root)
    teams.rename_team(team, name="Find", by=root)
    team.refresh_from_db()
    rights = InvitedRights(roles=[Role.OPERATOR, Role.APPROVER], team=team)
    link = people.invite_person(username="bob", rights=rights, by=root)
    bob = invitations.accept_invitation(link.text, password=CHOSEN)
    grant = roles.give_role(bob, role=Role.VIEWER, by=root, reason="looks on")
    roles.take_role(grant, by=root, reason="enough")
    roles.set_administrator(bob, administrator=True, by=root)
    roles.set_administrator(bob, administrator=True, by=root)  # unchanged: no entry
    roles.set_administrator(bob, administrator=False, by=root, reason="on leave")
    people.create_password_link(bob, by=root)
    people.deactivate_person(bob, by=root, reason="left")
    people.reactivate_person(bob, by=root)
    endpoint = make_endpoint(slug="steady")
    teams.move_endpoints([endpoint], team=team, by=root)
    teams.move_endpoints([endpoint], team=None, by=root)
    people.withdraw_invitation(
        people.invite_person(username="eve", rights=VIEWER, by=root).person, by=root
    )
    teams.remove_team(team, by=root, reason="merged")

    find, person = {"name": "Find"}, "person bob"
    operator, approver = ({"role": role, "team": "Find"} for role in ("operator", "approver"))
    administrator = {"role": "administrator", "team": None}
    entries = [entry for entry in all_entries() if entry[0] != "endpoint.created"]
    assert entries == [
        ("team.changed", "team Search", "root", "", None, {"name": "Search"}),
        ("team.changed", "team Find", "root", "", {"name": "Search"}, find),
        ("person.added", person, "root", "", None, {"name": "bob", "administrator": False}),
        ("grant.given", person, "root", "", None, operator),
        ("grant.given", person, "root", "", None, approver),
        ("password.changed", person, "bob", "", None, None),
        ("grant.given", person, "root", "looks on", None, {"role": "viewer", "team": None}),
        ("grant.taken", person, "root", "enough", {"role": "viewer", "team": None}, None),
        ("grant.given", person, "root", "", None, administrator),
        ("grant.taken", person, "root", "on leave", administrator, None),
        ("person.changed", person, "root", "", None, {"password": "to be chosen by a link"}),
        ("person.changed", person, "root", "left", {"active": True}, {"active": False}),
        ("person.changed", person, "root", "", {"active": False}, {"active": True}),
        ("endpoint.changed", "endpoint steady", "root", "", {"team": ""}, {"team": "Find"}),
        ("endpoint.changed", "endpoint steady", "root", "", {"team": "Find"}, {"team": ""}),
        (
            *("person.added", "person eve", "root", "", None),
            {"name": "eve", "administrator": False},
        ),
        ("grant.given", "person eve", "root", "", None, {"role": "viewer", "team": None}),
        ("person.changed", "person eve", "root", "", None, {"invitation": "withdrawn"}),
        ("grant.taken", person, "root", "merged", operator, None),
        ("grant.taken", person, "root", "merged", approver, None),
        ("team.changed", "team Find", "root", "merged", find, None),
    ]
    told_of_moves = AuditEntry.objects.filter(action="endpoint.changed").order_by("id")
    assert [entry.endpoint for entry in told_of_moves] == ["steady", "steady"]
    assert CHOSEN not in str(entries)


def test_what_cannot_be_written_down_does_not_happen(root: User) -> None:
    """Without an audit entry there is no role."""
    bob = make_person("bob")
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE dashboard_auditentry ADD CONSTRAINT no_room CHECK (id < 0)")

    with pytest.raises(Exception, match="no_room"), transaction.atomic():
        roles.give_role(bob, role=Role.OPERATOR, by=root)
    with pytest.raises(Exception, match="no_room"), transaction.atomic():
        people.invite_person(username="eve", rights=VIEWER, by=root)

    assert not Grant.objects.exists()
    assert not User.objects.filter(username="eve").exists()


def test_who_has_gone_gets_no_role_and_what_is_gone_is_refused_in_words(root: User) -> None:
    """Of two people on the same page, the second gets a message about the first's change."""
    bob, team = make_person("bob", Role.VIEWER), Team.objects.create(name="Search")
    grant = bob.grants.get()
    roles.take_role(grant, by=root)
    removed = Team.objects.get(pk=team.pk)
    teams.remove_team(team, by=root)

    refusals: dict[str, Callable[[], Any]] = {
        "taken this role away": lambda: roles.take_role(grant, by=root),
        "removed this team": lambda: roles.give_role(bob, role=Role.VIEWER, team=removed, by=root),
        "has removed this team": lambda: teams.rename_team(removed, name="x", by=root),
        "This account is active": lambda: people.reactivate_person(bob, by=root),
        "end their access instead": lambda: people.withdraw_invitation(bob, by=root),
        "Choose at least one role": lambda: people.invite_person(
            username="x", rights=InvitedRights(), by=root
        ),
    }
    for message, action in refusals.items():
        with pytest.raises(Refused, match=message):
            action()
    people.deactivate_person(bob, by=root)
    with pytest.raises(Refused, match="reactivate it first"):
        roles.give_role(bob, role=Role.VIEWER, by=root)


def test_roles_in_words() -> None:
    """A role everywhere hides single teams, and many teams are counted."""
    many = [(Role.VIEWER, f"team {n}") for n in range(5)]

    assert roles_label([], administrator=False) == "No role"
    assert roles_label(many, administrator=True) == "Administrator"
    assert roles_label(many, administrator=False) == "Viewer in team 0, team 1, team 2 and 2 more"
    both = [(Role.APPROVER, "Search"), (Role.OPERATOR, None), (Role.OPERATOR, "Search")]
    assert roles_label(both, administrator=False) == "Operator everywhere; Approver in Search"


def test_the_roles_of_an_actor_come_with_their_rights(root: User) -> None:
    """One query returns the rights of a person and the labels of their roles."""
    team = Team.objects.create(name="Search")
    bob = make_person("bob", Role.APPROVER, team=team)

    actor = user_actor(bob)

    assert actor.held == ((Role.APPROVER, "Search"),)
    assert actor.may(Right.DECIDE, team.pk)
    assert user_actor(root).held == ()


def test_the_page_about_people_says_what_the_code_does() -> None:
    """The table of docs/people.md is dashboard.core.permissions.RIGHTS."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    table = {
        cells[0].strip("` "): [cell.strip() == "yes" for cell in cells[2:6]]
        for cells in (line.strip("|").split("|") for line in lines)
        if cells[0].strip("` ") in set(Right)
    }

    expected = {right.value: [*(right in RIGHTS[role] for role in Role), True] for right in Right}
    assert table == expected


def test_what_somebody_asked_for_goes_with_them(root: User) -> None:
    """A deactivated person's pending requests are withdrawn; others stay."""
    bob, carol = make_person("bob", Role.OPERATOR), make_person("carol", Role.OPERATOR)
    of_bob, of_carol = (_request_promotion(slug, by) for slug, by in (("one", bob), ("two", carol)))

    people.deactivate_person(bob, by=root, reason="left")

    of_bob.refresh_from_db()
    of_carol.refresh_from_db()
    assert (of_bob.state, of_bob.decided_by) == ("withdrawn", root)
    assert of_carol.state == "pending"
    assert "rollout.withdrawn" in [entry[0] for entry in all_entries()]


def _request_promotion(slug: str, by: User) -> RolloutRequest:
    return RolloutRequest.objects.create(
        profile=make_endpoint(slug=slug).profile,
        from_stage="shadow",
        to_stage="read_only",
        evidence={},
        digest=b"",
        requested_by=by,
        reason="it is time",
        expires_at=timezone.now() + timedelta(days=1),
    )
