"""The pages of people, invitations, and the person's own password."""

from __future__ import annotations

from html import unescape
from re import search
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django.asserts import assertRedirects

from dashboard.models import Grant, Invitation, Team
from dashboard.models.people import Role
from dashboard.people.services import tokens
from tests.factories import make_person
from tests.markup import assert_contains, assert_not_contains

CHOSEN = "a long enough sentence 7"
OTHER = "another sentence 8"


@pytest.fixture(autouse=True)
def _quick_hashes(settings: Any) -> None:
    """Fast hashes: their cost is not tested here."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def administrator(db: None) -> User:
    return User.objects.create_superuser("root")


@pytest.fixture
def as_administrator(client: Client, administrator: User) -> Client:
    client.force_login(administrator)
    return client


def read_link(page: Any) -> str:
    """The path of the link that a page shows."""
    match = search(r'id="new-link"[^>]*>https?://[^/<]+(/[^<]+)<', page.content.decode())
    assert match is not None
    return unescape(match[1])


def invite(client: Client, username: str, **over: Any) -> Any:
    return client.post("/settings/people/", {"username": username, "roles": ["viewer"], **over})


def choose_password(client: Client, link: str, password: str = CHOSEN) -> Any:
    return client.post(link, {"new_password1": password, "new_password2": password})


def test_somebody_is_invited_chooses_a_password_and_is_in(as_administrator: Client) -> None:
    """The link is only in the response to the POST, and works once."""
    page = invite(as_administrator, "bob", roles=["operator", "approver"], email="bob@host-1.test")
    link = read_link(page)
    assert "no-store" in page.headers["Cache-Control"]
    again = as_administrator.get("/settings/people/")
    assert_not_contains(again, link)
    assert_contains(again, "invited")
    assert_contains(again, "Operator everywhere; Approver everywhere")

    newcomer = Client()
    opened = newcomer.get(link)
    assert_contains(opened, "Welcome, bob")
    assert "no-store" in opened.headers["Cache-Control"]
    assert opened.headers["Referrer-Policy"] == "same-origin"
    assertRedirects(choose_password(newcomer, link), "/")

    bob = User.objects.get(username="bob")
    assert bob.email == "bob@host-1.test"
    assert newcomer.get("/").context["user"] == bob
    assert Client().login(username="bob", password=CHOSEN)
    assert choose_password(Client(), link, OTHER).status_code == 404
    assert not Client().login(username="bob", password=OTHER)


def test_links_that_open_nothing_all_look_the_same(as_administrator: Client) -> None:
    """Unknown, used, expired, replaced and withdrawn links get the same response."""
    used, expired, replaced, withdrawn = (
        read_link(invite(as_administrator, name)) for name in ("one", "two", "three", "four")
    )
    ids = {person.username: person.pk for person in User.objects.all()}
    choose_password(Client(), used)
    Invitation.objects.filter(person=ids["two"]).update(expires_at=Now())
    fresh = read_link(as_administrator.post(f"/settings/people/{ids['three']}/password/"))
    as_administrator.post(f"/settings/people/{ids['four']}/withdraw/")
    unknown = used[:-5] + "aaaa/"

    answers = [
        Client().get(link)
        for link in (unknown, "/invitations/x%00y/", used, expired, replaced, withdrawn)
    ]

    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1
    assert_contains(answers[0], "Ask an administrator for a new one.", status_code=404)
    assert choose_password(Client(), expired).status_code == 404
    assert Client().get(fresh).status_code == 200
    assert "four" not in User.objects.values_list("username", flat=True)
    assert "link expired" in as_administrator.get("/settings/people/").content.decode()


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("zebra 7", "zebra 7", "This password is too short."),
        ("password1234", "password1234", "This password is too common."),
        ("somebodynew1", "somebodynew1", "too similar to the username"),
        (CHOSEN, OTHER, "The two password fields didn"),
    ],
)
def test_a_bad_choice_leaves_the_link_as_it_is(
    as_administrator: Client, first: str, second: str, message: str
) -> None:
    """The error is shown without the typed password, and the link still works."""
    link = read_link(invite(as_administrator, "somebodynew"))

    page = Client().post(link, {"new_password1": first, "new_password2": second})

    assert_contains(page, message)
    assert_not_contains(page, f'value="{first}"')
    assert choose_password(Client(), link).status_code == 302


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "This field is required."),
        ("<script>alert(1)</script>", "Enter a valid username."),
        ("two words", "Enter a valid username."),
        ("x" * 151, "at most 150 characters"),
        ("ROOT", "There is already somebody called"),
        ("nul\0", "Null characters are not allowed."),
    ],
)
def test_a_bad_name_is_refused_beside_its_field(
    as_administrator: Client, name: str, message: str
) -> None:
    """No person is added, and markup is escaped; names must differ in more than case."""
    page = invite(as_administrator, name)

    assert_contains(page, message)
    assert_not_contains(page, "<script>alert")
    assert User.objects.count() == 1


def test_an_invitation_says_what_somebody_will_be(as_administrator: Client) -> None:
    """Administrator, or roles in one team without redundant ones; at least one is required."""
    search_team = Team.objects.create(name="Search")

    invite(as_administrator, "eve", roles=["administrator", "viewer"])
    invite(as_administrator, "bob", roles=["viewer", "approver"], team=search_team.pk)
    nothing = invite(as_administrator, "carol", roles=[])

    eve, bob = (User.objects.get(username=name) for name in ("eve", "bob"))
    assert eve.is_superuser
    assert not eve.grants.exists()
    assert not bob.is_superuser
    assert [(grant.role, grant.team) for grant in bob.grants.all()] == [
        (Role.APPROVER, search_team)
    ]
    assert_contains(nothing, "Choose at least one role.")
    assert not User.objects.filter(username="carol").exists()


def test_who_is_deactivated_is_out_at_once_and_for_good(as_administrator: Client) -> None:
    """Sessions end, the password stops working, and reactivation revives no old session."""
    bob = make_person("bob", Role.VIEWER, password=CHOSEN)
    User.objects.filter(pk=bob.pk).update(last_login=timezone.now())
    session = Client()
    session.force_login(bob)
    assert session.get("/").status_code == 200

    reset = read_link(as_administrator.post(f"/settings/people/{bob.pk}/password/"))
    page = as_administrator.post(f"/settings/people/{bob.pk}/deactivate/", follow=True)

    assert_contains(page, "bob can no longer sign in")
    assert session.get("/").headers["Location"].startswith("/login/")
    assert not Client().login(username="bob", password=CHOSEN)
    assert Client().get(reset).status_code == 404
    again = as_administrator.post(f"/settings/people/{bob.pk}/reactivate/")
    assert session.get("/").status_code == 302
    assertRedirects(choose_password(Client(), read_link(again), OTHER), "/")
    assert Client().login(username="bob", password=OTHER)


def test_a_link_to_a_new_password_ends_the_old_one_and_its_sessions(
    as_administrator: Client,
) -> None:
    """The old password and its sessions end; the second factor is still required."""
    bob = make_person("bob", Role.VIEWER, password=CHOSEN)
    User.objects.filter(pk=bob.pk).update(last_login=timezone.now())
    Authenticator.objects.create(user=bob, type=Authenticator.Type.TOTP, data={})
    session = Client()
    session.force_login(bob)

    link = read_link(as_administrator.post(f"/settings/people/{bob.pk}/password/"))

    assert session.get("/").status_code == 302
    assert not Client().login(username="bob", password=CHOSEN)
    assert choose_password(session, link, OTHER).headers["Location"] == "/login/code/"
    assert session.get("/").headers["Location"].startswith("/login/")
    assert User.objects.get(username="bob").check_password(OTHER)


def test_a_link_opened_by_somebody_else_says_whose_it_is(as_administrator: Client) -> None:
    """An administrator who opens a link sees whose it is before being signed out."""
    link = read_link(invite(as_administrator, "bob"))

    assert_contains(as_administrator.get(link), "You are signed in as root.")
    choose_password(as_administrator, link)

    assert as_administrator.get("/").context["user"].username == "bob"


def test_nobody_changes_themselves(as_administrator: Client, administrator: User) -> None:
    """Neither by the page, which offers nothing, nor by a forged POST."""
    User.objects.create_superuser("other")
    here = f"/settings/people/{administrator.pk}/"

    assert_contains(as_administrator.get(here), "This is you.")
    ended = as_administrator.post(f"{here}deactivate/", follow=True)
    lowered = as_administrator.post(f"{here}role/", {"administrator": "no"}, follow=True)
    response = as_administrator.post(f"{here}grants/", {"role": "approver"}, follow=True)
    renewed = as_administrator.post(f"{here}password/", follow=True)

    assert_contains(ended, "You cannot deactivate yourself")
    assert_contains(lowered, "You cannot change your own role")
    assert_contains(response, "You cannot change your own role")
    assert_contains(renewed, "Change your own password under Settings, Password.")
    administrator.refresh_from_db()
    assert administrator.is_active
    assert administrator.is_superuser
    assert not administrator.grants.exists()


def test_roles_are_given_and_taken_and_count_at_once(as_administrator: Client) -> None:
    """Several roles, everywhere or in a team; the page lists each with its description."""
    team = Team.objects.create(name="Search")
    bob = make_person("bob")
    here, session = f"/settings/people/{bob.pk}/", Client()
    session.force_login(bob)
    assert_contains(as_administrator.get(here), "They have no role")
    assert session.get("/").status_code == 403

    as_administrator.post(f"{here}grants/", {"role": "operator"})
    response = as_administrator.post(
        f"{here}grants/", {"role": "approver", "team": team.pk, "reason": "on call"}, follow=True
    )
    again = {"role": "approver", "team": team.pk}
    twice = as_administrator.post(f"{here}grants/", again, follow=True)
    nonsense = as_administrator.post(f"{here}grants/", {"role": "king", "team": "x"})

    assert_contains(response, "Operator everywhere; Approver in Search")
    assert_contains(response, f'href="/settings/teams/{team.pk}/"')
    assert_contains(twice, "bob has this role there already.")
    assert_contains(nonsense, "Select a valid choice.", count=2)
    menu = session.get("/")
    assert_contains(menu, "Operator everywhere; Approver in Search")

    operator = bob.grants.get(role=Role.OPERATOR)
    take = f"{here}grants/{operator.pk}/take/"
    assert_contains(as_administrator.get(take), "It holds everywhere.")
    assert_contains(as_administrator.post(take, follow=True), "bob has lost the role.")
    assert as_administrator.post(take).status_code == 404
    assert_contains(as_administrator.get(here), "Approver in Search")
    as_administrator.post(f"{here}grants/{bob.grants.get().pk}/take/")
    assert session.get("/").status_code == 403


def test_an_administrator_is_made_and_unmade(as_administrator: Client) -> None:
    """The previous roles apply again afterwards."""
    bob = make_person("bob", Role.VIEWER)
    here = f"/settings/people/{bob.pk}/"

    up = as_administrator.post(f"{here}role/", {"administrator": "yes"}, follow=True)
    assert_contains(up, "bob is an administrator now.")
    assert_contains(up, "These roles count again")
    down = as_administrator.post(f"{here}role/", {"administrator": "no"}, follow=True)

    assert_contains(down, "bob is no administrator.")
    assert_contains(down, "Viewer everywhere")
    assert not User.objects.get(username="bob").is_superuser


def test_living_tokens_are_named_before_somebody_goes_and_stop_with_them(
    as_administrator: Client,
) -> None:
    """The page warns an administrator, since programs that use them are refused at once."""
    bob = make_person("bob", Role.VIEWER)
    report = tokens.issue_token(name="report", scopes=["read"], by=bob)
    tokens.revoke_token(tokens.issue_token(name="old", scopes=["read"], by=bob).token)
    headers = {"Authorization": f"Bearer {report.text}"}
    assert Client().get("/api/v1/endpoints", headers=headers).status_code == 200

    page = as_administrator.get(f"/settings/people/{bob.pk}/")
    as_administrator.post(f"/settings/people/{bob.pk}/deactivate/")

    assert_contains(page, "1 API token that they made stops working with them.")
    assert Client().get("/api/v1/endpoints", headers=headers).status_code == 401


def test_somebody_who_came_is_not_withdrawn(as_administrator: Client) -> None:
    """A person who has signed in cannot be withdrawn: their actions keep their name."""
    link = read_link(invite(as_administrator, "bob"))
    bob = User.objects.get(username="bob")
    choose_password(Client(), link)

    page = as_administrator.post(f"/settings/people/{bob.pk}/withdraw/", follow=True)

    assert_contains(page, "end their access instead")
    assert User.objects.filter(username="bob").exists()


PAGES = (
    *("", "{0}/", "{0}/grants/{1}/take/"),
    *("{0}/password/", "{0}/role/", "{0}/grants/", "{0}/withdraw/"),
    *("{0}/deactivate/", "{0}/reactivate/"),
)


@pytest.mark.django_db
def test_people_are_for_administrators(client: Client) -> None:
    """Anonymous visitors are redirected, all others are refused, and nothing changes."""
    person = make_person("alice", Role.OPERATOR, Role.APPROVER)
    grant = Grant.objects.filter(person=person)[0]
    for page in PAGES:
        address = "/settings/people/" + page.format(person.pk, grant.pk)
        stranger, insider = Client(), client
        insider.force_login(person)
        for way in ("get", "post") if page in PAGES[:3] else ("post",):
            turned_away = getattr(stranger, way)(address)
            assert turned_away.headers["Location"].startswith("/login/"), address
            assert getattr(insider, way)(address).status_code == 403, address

    assert User.objects.get().is_active
    assert Grant.objects.count() == 2


def test_nobody_of_that_number_is_not_found(as_administrator: Client) -> None:
    """Also for an id beyond the column's range, and for another person's role."""
    grant = Grant.objects.get(person=make_person("bob", Role.VIEWER))
    other = make_person("carol").pk

    for number in ("999999", "9" * 30):
        assert as_administrator.get(f"/settings/people/{number}/").status_code == 404
        assert as_administrator.post(f"/settings/people/{number}/grants/").status_code == 404
    elsewhere = f"/settings/people/{other}/grants/{grant.pk}/take/"
    assert as_administrator.post(elsewhere).status_code == 404


def test_the_list_takes_as_many_queries_for_sixty_as_for_two(as_administrator: Client) -> None:
    """No query per person or per role."""
    team = Team.objects.create(name="Search")
    counted = []
    for count in (2, 60):
        people = User.objects.bulk_create(User(username=f"p{count}-{n}") for n in range(count))
        Grant.objects.bulk_create(
            Grant(person=person, team=team, role="viewer") for person in people
        )
        with CaptureQueriesContext(connection) as queries:
            as_administrator.get("/settings/people/")
        counted.append(len(queries))

    assert counted[0] == counted[1]


def test_people_are_found_by_name_address_and_team(as_administrator: Client) -> None:
    """Each person once, whatever matches; no match shows a message."""
    team = Team.objects.create(name="Search")
    make_person("bob", Role.VIEWER, Role.OPERATOR, team=team)
    User.objects.create_user("carol", email="carol@host-1.test")

    def search_people(q: str) -> list[str]:
        page = as_administrator.get("/settings/people/", {"q": q})
        return [person.username for person in page.context["page"]]

    assert search_people("sear") == ["bob"]
    assert search_people("HOST-1") == ["carol"]
    assert search_people(" o ") == ["bob", "carol", "root"]
    assert search_people("\0") == ["bob", "carol", "root"]
    assert_contains(as_administrator.get("/settings/people/?q=nothing"), "Nobody fits")


def change(client: Client, **over: str) -> Any:
    form = {"old_password": CHOSEN, "new_password1": OTHER, **over}
    form = {"new_password2": form["new_password1"], **form}
    return client.post("/settings/password/", form)


@pytest.mark.django_db
def test_ones_own_password_is_changed() -> None:
    """This session continues, others end, and only the new password works."""
    bob = User.objects.create_user("bob", password=CHOSEN)
    here, there = Client(), Client()
    here.force_login(bob)
    there.force_login(bob)

    assertRedirects(change(here), "/settings/")

    assert here.get("/settings/").status_code == 200
    assert there.get("/settings/").status_code == 302
    assert Client().login(username="bob", password=OTHER)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"old_password": "wrong"}, "Your old password was entered incorrectly."),
        ({"new_password1": "zebra 7"}, "This password is too short."),
        ({"new_password1": "password1234"}, "This password is too common."),
        ({"new_password2": "something else 9"}, "The two password fields didn"),
    ],
)
def test_a_bad_password_is_refused_in_words(over: dict[str, str], message: str) -> None:
    """The old password still works, and the page does not contain the typed text."""
    bob = User.objects.create_user("bob", password=CHOSEN)
    client = Client()
    client.force_login(bob)

    page = change(client, **over)

    assert_contains(page, message)
    assert_not_contains(page, over.get("new_password1", OTHER))
    assert Client().login(username="bob", password=CHOSEN)


def test_ones_own_password_needs_a_person(client: Client) -> None:
    """Changing the password needs a sign-in."""
    assert client.get("/settings/password/").headers["Location"].startswith("/login/")
