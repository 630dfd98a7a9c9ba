"""Sessions expire, are listed, and can be ended."""

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
from tests.security.people import PASSWORD, audit_entries, is_signed_in

pytestmark = pytest.mark.usefixtures("static_files")


@pytest.fixture
def bob(db: None, settings: Any) -> User:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return make_person("bob", password=PASSWORD)


@pytest.fixture
def signed_in_client(client: Client, bob: User) -> Client:
    client.force_login(bob)
    return client


def session_row(client: Client) -> PersonSession:
    return PersonSession.objects.get(pk=client.cookies["session"].value)


def remaining_lifetime(client: Client) -> timedelta:
    return session_row(client).expire_date - timezone.now()


def test_a_session_ends_when_nobody_is_there(signed_in_client: Client) -> None:
    """Opening a page extends the session; a page that refreshes itself does not."""
    assert timedelta(minutes=29) < remaining_lifetime(signed_in_client) <= timedelta(minutes=30)
    past = timezone.now() - timedelta(minutes=20)
    soon = timezone.now() + timedelta(minutes=10)
    PersonSession.objects.update(seen_at=past, expire_date=soon)

    signed_in_client.get("/settings/sessions/", headers={"HX-Request": "true"})
    assert remaining_lifetime(signed_in_client) <= timedelta(minutes=10)
    signed_in_client.get("/settings/sessions/")
    assert remaining_lifetime(signed_in_client) > timedelta(minutes=29)
    assert is_signed_in(signed_in_client)

    PersonSession.objects.update(expire_date=timezone.now())
    assert not is_signed_in(signed_in_client)


def test_a_session_ends_twelve_hours_after_signing_in(signed_in_client: Client) -> None:
    """A session ends even if it is active."""
    session = signed_in_client.session
    session["since"] = (timezone.now() - timedelta(hours=11, minutes=55)).isoformat()
    session.save()
    PersonSession.objects.update(seen_at=timezone.now() - timedelta(minutes=2))

    signed_in_client.get("/settings/")

    assert remaining_lifetime(signed_in_client) <= timedelta(minutes=5)


def test_people_see_and_end_their_own_sessions(signed_in_client: Client, bob: User) -> None:
    """The current one is marked; one can be ended, then all others, but no other person's."""
    phone, tablet, stranger = Client(), Client(), Client()
    phone.force_login(bob)
    tablet.force_login(bob)
    stranger.force_login(make_person("eve"))
    page = signed_in_client.get("/settings/sessions/")

    assert_contains(page, "this one", count=1)
    assert_contains(page, 'role="row"', count=1 + 3)
    keys = [client.cookies["session"].value for client in (signed_in_client, phone, stranger)]
    assert not any(key in page.content.decode() for key in keys)

    for client in (phone, stranger):
        signed_in_client.post(f"/settings/sessions/{session_row(client).public_id}/end/")
    assert [is_signed_in(client) for client in (signed_in_client, phone, tablet, stranger)] == [
        *(True, False, True, True)
    ]
    signed_in_client.post("/settings/sessions/")
    assert [is_signed_in(client) for client in (signed_in_client, tablet, stranger)] == [
        True,
        False,
        True,
    ]
    assert len(audit_entries(Action.SIGNED_OUT)) == 2


def test_a_new_password_ends_all_other_sessions(signed_in_client: Client, bob: User) -> None:
    """The current session continues under a new key, with the same end."""
    phone = Client()
    phone.force_login(bob)
    before = session_row(signed_in_client)
    chosen = "another battery of horses"
    form = {"old_password": PASSWORD, "new_password1": chosen, "new_password2": chosen}

    assert signed_in_client.post("/settings/password/", form).status_code == 302

    assert (is_signed_in(signed_in_client), is_signed_in(phone)) == (True, False)
    after = session_row(signed_in_client)
    assert (after.pk != before.pk, after.since) == (True, before.since)
    assert PersonSession.objects.filter(person=bob).count() == 1
    assert len(audit_entries(Action.PASSWORD_CHANGED)) == 1
