"""Sign-in with an OpenID Connect provider, and all the ways in which it must fail."""

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
from tests.security.people import PASSWORD, add_app, app_code, audit_entries, is_signed_in, sign_in
from tests.security.provider import Provider, provider

__all__ = ["provider"]
pytestmark = pytest.mark.usefixtures("static_files", "db")


def sign_in_by_provider(client: Client, provider: Provider, **claims: Any) -> Any:
    """The whole flow of a browser: to the provider and back."""
    provider.claims = claims
    redirect = client.post("/login/oidc/", {"next": "/settings/sessions/"})
    return client.get(provider.authorize(redirect.headers["Location"]))


def link_account(client: Client, provider: Provider) -> Any:
    redirect = client.post("/settings/security/link/")
    return client.get(provider.authorize(redirect.headers["Location"]))


def test_who_linked_their_account_comes_in(client: Client, provider: Provider) -> None:
    """A person links their account while signed in; then the subject alone signs in."""
    bob = make_person("bob", password=PASSWORD)
    client.force_login(bob)
    assert_contains(Client().get("/login/"), "Sign in with Acme")
    assert link_account(client, provider).headers["Location"] == "/settings/security/"

    visitor = Client()
    answer = sign_in_by_provider(visitor, provider, preferred_username="somebody-else")

    assert answer.headers["Location"] == "/settings/sessions/"
    assert visitor.session["_auth_user_id"] == str(bob.pk)
    assert provider.authorize_params["code_challenge_method"] == "S256"
    assert audit_entries(Action.SIGNED_IN)[0]["after"]["how"] == "OpenID Connect"
    # No other claims are stored.
    assert SocialAccount.objects.get().extra_data == {}


def test_strangers_stay_out(client: Client, provider: Provider) -> None:
    """A name alone does not sign in, and creates no person."""
    make_person("bob", password=PASSWORD)

    page = sign_in_by_provider(client, provider, preferred_username="bob", email="bob@x.example")

    assert page.headers["Location"] == "/login/"
    assert_contains(client.get("/login/"), "Nobody here is linked")
    assert (is_signed_in(client), User.objects.count()) == (False, 1)


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
    """Wrong nonce, audience, party, issuer, time, subject or key: an error, and no sign-in."""
    SocialAccount.objects.create(user=make_person("bob"), provider=provider.url, uid="subject-1")
    if "signs_with" in over:
        provider.signs_with = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    provider.algorithm = over.get("algorithm", "RS256")

    answer = sign_in_by_provider(client, provider, **claims)

    assert answer.headers["Location"] == "/login/"
    assert not is_signed_in(client)


def test_another_sessions_state_or_code_is_refused(client: Client, provider: Provider) -> None:
    """The callback must belong to this session's flow; each state works once."""
    SocialAccount.objects.create(user=make_person("bob"), provider=provider.url, uid="subject-1")
    victim, thief = Client(), Client()
    back = provider.authorize(thief.post("/login/oidc/").headers["Location"])
    assert victim.get(back).headers["Location"] == "/login/"
    assert not is_signed_in(victim)

    assert thief.get(back).headers["Location"] == "/"
    assert Client().get("/login/oidc/back/?error=access_denied").status_code == 302
    thief.post("/logout/")
    thief.get(back)
    assert not is_signed_in(thief)


def test_a_configured_claim_links_and_may_make_people(
    client: Client, provider: Provider, settings: Any
) -> None:
    """An unverified e-mail address does not count; a new person has no rights yet."""
    make_person("bob@x.example")
    settings.OIDC_USERNAME_CLAIM = "email"
    sign_in_by_provider(client, provider, email="bob@x.example", email_verified=False)
    assert not is_signed_in(client)
    sign_in_by_provider(client, provider, email="bob@x.example", email_verified=True)
    assert is_signed_in(client)
    # The same name from another subject is another person.
    other = Client()
    sign_in_by_provider(
        other, provider, sub="subject-2", email="bob@x.example", email_verified=True
    )
    assert not is_signed_in(other)

    settings.OIDC_CREATE_PEOPLE = True
    sign_in_by_provider(
        other, provider, sub="subject-3", email="eve@x.example", email_verified=True
    )
    eve = User.objects.get(username="eve@x.example")
    assert (is_signed_in(other), permissions.user_actor(eve)) == (True, permissions.NOBODY)
    assert not eve.has_usable_password()


def test_the_same_rules_hold_for_who_comes_that_way(client: Client, provider: Provider) -> None:
    """Deactivation, the second factor and throttling apply to this sign-in too."""
    bob = make_person("bob", password=PASSWORD)
    SocialAccount.objects.create(user=bob, provider=provider.url, uid="subject-1")
    secret = add_app(bob)
    assert sign_in_by_provider(client, provider).headers["Location"] == "/login/code/"
    assert not is_signed_in(client)
    client.post("/login/code/", {"code": app_code(secret)})
    assert is_signed_in(client)
    # Signed in, the same button confirms.
    assert sign_in_by_provider(client, provider).headers["Location"] == "/settings/sessions/"
    assert provider.authorize_params["prompt"] == "login"

    visitor = Client(REMOTE_ADDR="192.0.2.3")
    for _ in range(5):
        sign_in(visitor, password="wrong")
    assert sign_in_by_provider(visitor, provider).status_code == 429
    User.objects.filter(pk=bob.pk).update(is_active=False)
    late = Client()
    assert sign_in_by_provider(late, provider).headers["Location"] == "/login/"
    assert not is_signed_in(late)


def test_without_a_provider_there_is_no_such_way(client: Client, db: None) -> None:
    """Without a provider there is neither a button nor a URL."""
    assert "oidc" not in client.get("/login/").content.decode()
    assert client.post("/login/oidc/").status_code == 404
    assert client.get("/login/oidc/back/?code=x&state=y").status_code == 404
