"""Signing in by an OpenID Connect provider, and all the ways in which it must not work."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.socialaccount.models import SocialAccount
from cryptography.hazmat.primitives.asymmetric import rsa
from django.contrib.auth.models import User
from django.test import Client

from dashboard.core import permissions
from dashboard.models.audit import Action
from tests.factories import make_person
from tests.markup import assert_contains
from tests.security.people import PASSWORD, code_of, is_in, sign_in, told, with_app
from tests.security.provider import Provider, provider

__all__ = ["provider"]
pytestmark = pytest.mark.usefixtures("static_files", "db")


def come(client: Client, provider: Provider, **claims: Any) -> Any:
    """The whole walk of a browser: to the provider and back."""
    provider.claims = claims
    sent = client.post("/login/oidc/", {"next": "/settings/sessions/"})
    return client.get(provider.authorize(sent.headers["Location"]))


def link(client: Client, provider: Provider) -> Any:
    sent = client.post("/settings/security/link/")
    return client.get(provider.authorize(sent.headers["Location"]))


def test_who_linked_their_account_comes_in(client: Client, provider: Provider) -> None:
    """A link is made while signed in; then the subject alone is enough, whatever it is called."""
    bob = make_person("bob", password=PASSWORD)
    client.force_login(bob)
    assert_contains(Client().get("/login/"), "Sign in with Acme")
    assert link(client, provider).headers["Location"] == "/settings/security/"

    visitor = Client()
    answer = come(visitor, provider, preferred_username="somebody-else")

    assert answer.headers["Location"] == "/settings/sessions/"
    assert visitor.session["_auth_user_id"] == str(bob.pk)
    assert provider.asked["code_challenge_method"] == "S256"
    assert told(Action.SIGNED_IN)[0]["after"]["how"] == "OpenID Connect"
    # Nothing else that they say about somebody is kept.
    assert SocialAccount.objects.get().extra_data == {}


def test_strangers_stay_out(client: Client, provider: Provider) -> None:
    """A name alone opens nothing, and nobody is made of it."""
    make_person("bob", password=PASSWORD)

    page = come(client, provider, preferred_username="bob", email="bob@x.example")

    assert page.headers["Location"] == "/login/"
    assert_contains(client.get("/login/"), "Nobody here is linked")
    assert (is_in(client), User.objects.count()) == (False, 1)


@pytest.mark.parametrize(
    ("claims", "over"),
    [
        ({"nonce": "another"}, {}),
        ({"nonce": None}, {}),
        ({"aud": "another-client"}, {}),
        ({"azp": "another-client"}, {}),
        ({"iss": "https://evil.example"}, {}),
        ({"exp": 1_000_000_000}, {}),
        ({"sub": ""}, {}),
        ({}, {"signs_with": "stranger"}),
        ({}, {"algorithm": "none"}),
    ],
)
def test_a_token_that_is_not_right_is_refused(
    client: Client, provider: Provider, claims: dict[str, Any], over: dict[str, Any]
) -> None:
    """Wrong nonce, audience, party, issuer, time, subject, key or none: told, and nobody is in."""
    SocialAccount.objects.create(user=make_person("bob"), provider=provider.url, uid="subject-1")
    if "signs_with" in over:
        provider.signs_with = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    provider.algorithm = over.get("algorithm", "RS256")

    answer = come(client, provider, **claims)

    assert answer.headers["Location"] == "/login/"
    assert not is_in(client)


def test_another_sessions_state_or_code_is_refused(client: Client, provider: Provider) -> None:
    """What came back must belong to whoever left; each state counts once."""
    SocialAccount.objects.create(user=make_person("bob"), provider=provider.url, uid="subject-1")
    victim, thief = Client(), Client()
    back = provider.authorize(thief.post("/login/oidc/").headers["Location"])
    assert victim.get(back).headers["Location"] == "/login/"
    assert not is_in(victim)

    assert thief.get(back).headers["Location"] == "/"
    assert Client().get("/login/oidc/back/?error=access_denied").status_code == 302
    thief.post("/logout/")
    thief.get(back)
    assert not is_in(thief)


def test_a_configured_claim_links_and_may_make_people(
    client: Client, provider: Provider, settings: Any
) -> None:
    """An unverified address does not count; who is made may do nothing yet."""
    make_person("bob@x.example")
    settings.OIDC_USERNAME_CLAIM = "email"
    come(client, provider, email="bob@x.example", email_verified=False)
    assert not is_in(client)
    come(client, provider, email="bob@x.example", email_verified=True)
    assert is_in(client)
    # The same name from another subject is somebody else.
    other = Client()
    come(other, provider, sub="subject-2", email="bob@x.example", email_verified=True)
    assert not is_in(other)

    settings.OIDC_CREATE_PEOPLE = True
    come(other, provider, sub="subject-3", email="eve@x.example", email_verified=True)
    eve = User.objects.get(username="eve@x.example")
    assert (is_in(other), permissions.user_actor(eve)) == (True, permissions.NOBODY)
    assert not eve.has_usable_password()


def test_the_same_rules_hold_for_who_comes_that_way(client: Client, provider: Provider) -> None:
    """Deactivated people stay out, a second factor is asked for, guessing makes them wait too."""
    bob = make_person("bob", password=PASSWORD)
    SocialAccount.objects.create(user=bob, provider=provider.url, uid="subject-1")
    secret = with_app(bob)
    assert come(client, provider).headers["Location"] == "/login/code/"
    assert not is_in(client)
    client.post("/login/code/", {"code": code_of(secret)})
    assert is_in(client)
    # Signed in, the same button confirms.
    assert come(client, provider).headers["Location"] == "/settings/sessions/"
    assert provider.asked["prompt"] == "login"

    visitor = Client(REMOTE_ADDR="192.0.2.3")
    for _ in range(5):
        sign_in(visitor, password="wrong")
    assert come(visitor, provider).status_code == 429
    User.objects.filter(pk=bob.pk).update(is_active=False)
    late = Client()
    assert come(late, provider).headers["Location"] == "/login/"
    assert not is_in(late)


def test_without_a_provider_there_is_no_such_way(client: Client, db: None) -> None:
    """Neither a button nor an address."""
    assert "oidc" not in client.get("/login/").content.decode()
    assert client.post("/login/oidc/").status_code == 404
    assert client.get("/login/oidc/back/?code=x&state=y").status_code == 404
