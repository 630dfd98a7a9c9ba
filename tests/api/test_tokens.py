from __future__ import annotations

import re
from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from dashboard.errors import Refused
from dashboard.models import ApiToken
from dashboard.services import tokens
from tests.api.asking import Asking

SHAPE = re.compile(r"tg_[a-z0-9]{8}_[A-Za-z0-9_-]{43}")
FORM = {"name": "nightly", "scopes": ["read", "probe"], "lasts": "30"}


@pytest.fixture
def administrator(db: None, client: Client) -> Client:
    client.force_login(User.objects.create_superuser("admin"))
    return client


@pytest.mark.django_db
def test_a_token_has_its_shape_and_only_its_hash_is_stored() -> None:
    """Whoever reads the table cannot use the API."""
    made = tokens.issue(name="a", scopes=["read"], by=None)

    row = ApiToken.objects.values().get()
    assert SHAPE.fullmatch(made.text)
    secret = made.text.split("_", 2)[2]
    assert all(secret not in str(value) for value in row.values())
    assert tokens.find(made.text) == made.token


@pytest.mark.django_db
def test_no_two_tokens_are_alike() -> None:
    """Prefix and secret are drawn anew for every token."""
    made = [tokens.issue(name="a", scopes=["read"], by=None).text for _ in range(20)]

    assert len({text.split("_", 2)[1] for text in made}) == 20
    assert len({text.split("_", 2)[2] for text in made}) == 20


@pytest.mark.django_db
@pytest.mark.parametrize("scopes", [[], ["everything"], ["read", "everything"]])
def test_scopes_must_be_known(scopes: list[str]) -> None:
    """Neither the service nor the table takes a scope that does not exist, or none at all."""
    with pytest.raises(Refused):
        tokens.issue(name="a", scopes=scopes, by=None)
    with pytest.raises(IntegrityError), transaction.atomic():
        ApiToken.objects.create(prefix="abcdefgh", digest=b"", name="a", scopes=scopes)


@pytest.mark.django_db
def test_a_token_is_revoked_once() -> None:
    """The time of the first revocation stays."""
    token = tokens.issue(name="a", scopes=["read"], by=None).token

    assert [tokens.revoke(token), tokens.revoke(token)] == [True, False]


def test_the_page_shows_a_new_token_once(administrator: Client) -> None:
    """The answer to the form has the token; the page opened again has not."""
    answer = administrator.post("/settings/tokens/", FORM)

    (text,) = SHAPE.findall(answer.content.decode())
    token = tokens.find(text)
    assert (token.name, token.scopes) == ("nightly", ["read", "probe"])
    assert token.expires_at is not None
    assert abs(token.expires_at - timezone.now() - timedelta(days=30)) < timedelta(hours=1)
    again = administrator.get("/settings/tokens/")
    assertContains(again, f"tg_{token.prefix}_…")
    assertNotContains(again, text)
    assert "no-store" in answer.headers["Cache-Control"]


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"name": ""}, "This field is required"),
        ({"scopes": []}, "Choose at least one"),
        ({"scopes": ["everything"]}, "not one of the available choices"),
        ({"lasts": "1000"}, "not one of the available choices"),
    ],
    ids=str,
)
def test_a_wrong_form_makes_no_token(
    administrator: Client, over: dict[str, str], message: str
) -> None:
    """The mistake is told beside its field."""
    assertContains(administrator.post("/settings/tokens/", {**FORM, **over}), message)

    assert not ApiToken.objects.exists()


def test_revoking_asks_first(administrator: Client, api: Asking) -> None:
    """Only the post of the confirmation revokes, and it needs no script."""
    address = f"/settings/tokens/{api.token.prefix}/revoke/"

    assertContains(administrator.get(address), "Revoke a script?")
    assert api.get("/endpoints").status_code == 200
    assertRedirects(administrator.post(address), "/settings/tokens/")

    assert api.get("/endpoints").status_code == 401
    assertContains(administrator.get("/settings/tokens/"), "revoked")


def test_what_is_called_like_markup_stays_text(administrator: Client) -> None:
    """A token's name is shown as it was typed."""
    name = "<script>alert(1)</script>"

    page = administrator.post("/settings/tokens/", {**FORM, "name": name})

    assertNotContains(page, name)
    assertContains(page, "&lt;script&gt;")


def test_the_page_is_for_administrators(client: Client, person: User, api: Asking) -> None:
    """Others can neither see tokens nor make or revoke them."""
    addresses = ["/settings/tokens/", f"/settings/tokens/{api.token.prefix}/revoke/"]
    assert [client.get(address).status_code for address in addresses] == [302, 302]
    client.force_login(person)

    assert [client.get(address).status_code for address in addresses] == [403, 403]
    assert [client.post(address, FORM).status_code for address in addresses] == [403, 403]
    assert ApiToken.objects.filter(revoked_at=None).count() == 1


def test_an_unknown_token_cannot_be_revoked(administrator: Client) -> None:
    """There is no such page."""
    assert administrator.get("/settings/tokens/abcdefgh/revoke/").status_code == 404


def test_the_command_prints_the_token_alone(person: User) -> None:
    """A script takes standard output as it is."""
    out = StringIO()

    arguments = ["ci", "--scope", "read", "--scope", "probe", "--lasts", "6h", "--user", "alice"]
    call_command("api_token", *arguments, stdout=out)

    text = out.getvalue()
    token = tokens.find(text.removesuffix("\n"))
    assert SHAPE.fullmatch(text[:-1])
    assert (token.name, token.scopes, token.created_by) == ("ci", ["read", "probe"], person)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "arguments",
    [["ci"], ["ci", "--scope", "all"], ["--lasts", "soon"], ["--user", "nobody"]],
    ids=str,
)
def test_the_command_refuses_what_it_does_not_know(arguments: list[str]) -> None:
    """Wrong usage makes no token."""
    if "ci" not in arguments:
        arguments = ["ci", "--scope", "read", *arguments]

    with pytest.raises(CommandError):
        call_command("api_token", *arguments)

    assert not ApiToken.objects.exists()
