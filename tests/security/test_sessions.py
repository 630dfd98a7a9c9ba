"""Sessions end by themselves, can be seen, and can be ended."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dashboard.models import PersonSession
from dashboard.models.audit import Action
from tests.factories import make_person
from tests.markup import assert_contains
from tests.security.people import PASSWORD, is_in, told

pytestmark = pytest.mark.usefixtures("static_files")


@pytest.fixture
def bob(db: None, settings: Any) -> User:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return make_person("bob", password=PASSWORD)


@pytest.fixture
def inside(client: Client, bob: User) -> Client:
    client.force_login(bob)
    return client


def row_of(client: Client) -> PersonSession:
    return PersonSession.objects.get(pk=client.cookies["session"].value)


def left(client: Client) -> timedelta:
    return row_of(client).expire_date - timezone.now()


def test_a_session_ends_when_nobody_is_there(inside: Client) -> None:
    """A page that is opened puts the end off; a page that only refreshes itself does not."""
    assert timedelta(minutes=29) < left(inside) <= timedelta(minutes=30)
    past = timezone.now() - timedelta(minutes=20)
    soon = timezone.now() + timedelta(minutes=10)
    PersonSession.objects.update(seen_at=past, expire_date=soon)

    inside.get("/settings/sessions/", headers={"HX-Request": "true"})
    assert left(inside) <= timedelta(minutes=10)
    inside.get("/settings/sessions/")
    assert left(inside) > timedelta(minutes=29)
    assert is_in(inside)

    PersonSession.objects.update(expire_date=timezone.now())
    assert not is_in(inside)


def test_a_session_ends_twelve_hours_after_signing_in(inside: Client) -> None:
    """However busy its person is."""
    session = inside.session
    session["since"] = (timezone.now() - timedelta(hours=11, minutes=55)).isoformat()
    session.save()
    PersonSession.objects.update(seen_at=timezone.now() - timedelta(minutes=2))

    inside.get("/settings/")

    assert left(inside) <= timedelta(minutes=5)


def test_people_see_and_end_their_own_sessions(inside: Client, bob: User) -> None:
    """This one is marked; one is ended, then all others; nobody else's are touched."""
    phone, tablet, stranger = Client(), Client(), Client()
    phone.force_login(bob)
    tablet.force_login(bob)
    stranger.force_login(make_person("eve"))
    page = inside.get("/settings/sessions/")

    assert_contains(page, "this one", count=1)
    assert_contains(page, 'role="row"', count=1 + 3)
    keys = [client.cookies["session"].value for client in (inside, phone, stranger)]
    assert not any(key in page.content.decode() for key in keys)

    for client in (phone, stranger):
        inside.post(f"/settings/sessions/{row_of(client).public_id}/end/")
    assert [is_in(client) for client in (inside, phone, tablet, stranger)] == [
        *(True, False, True, True)
    ]
    inside.post("/settings/sessions/")
    assert [is_in(client) for client in (inside, tablet, stranger)] == [True, False, True]
    assert len(told(Action.SIGNED_OUT)) == 2


def test_a_new_password_ends_all_other_sessions(inside: Client, bob: User) -> None:
    """Under a new key this one goes on, no longer than it would have."""
    phone = Client()
    phone.force_login(bob)
    before = row_of(inside)
    chosen = "another battery of horses"
    form = {"old_password": PASSWORD, "new_password1": chosen, "new_password2": chosen}

    assert inside.post("/settings/password/", form).status_code == 302

    assert (is_in(inside), is_in(phone)) == (True, False)
    after = row_of(inside)
    assert (after.pk != before.pk, after.since) == (True, before.since)
    assert PersonSession.objects.filter(person=bob).count() == 1
    assert len(told(Action.PASSWORD_CHANGED)) == 1
