from __future__ import annotations

import re
from datetime import timedelta
from importlib import import_module
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone
from pytest_django.asserts import assertRedirects

from dashboard.api.token_check import find_token
from dashboard.core.errors import Refused
from dashboard.core.sql import execute
from dashboard.models import ApiToken, AuditEntry, Grant, Team
from dashboard.models.people import Role
from dashboard.people.services import tokens
from tests.dashboard.api.client import ApiClient
from tests.factories import make_person
from tests.markup import assert_contains, assert_not_contains

SHAPE = re.compile(r"tg_[a-z0-9]{8}_[A-Za-z0-9_-]{43}")
FORM = {"name": "nightly", "scopes": ["read", "probe"], "lasts": "30"}


@pytest.fixture
def administrator(db: None, client: Client) -> Client:
    client.force_login(User.objects.create_superuser("admin"))
    return client


@pytest.mark.django_db
def test_a_token_has_its_shape_and_only_its_hash_is_stored() -> None:
    """The table does not contain what the API needs."""
    issued = tokens.issue_token(name="a", scopes=["read"], by=None)

    row = ApiToken.objects.values().get()
    assert SHAPE.fullmatch(issued.text)
    secret = issued.text.split("_", 2)[2]
    assert all(secret not in str(value) for value in row.values())
    assert find_token(issued.text) == issued.token


@pytest.mark.django_db
def test_no_two_tokens_are_alike() -> None:
    """Prefix and secret are random for every token."""
    texts = [tokens.issue_token(name="a", scopes=["read"], by=None).text for _ in range(20)]

    assert len({text.split("_", 2)[1] for text in texts}) == 20
    assert len({text.split("_", 2)[2] for text in texts}) == 20


@pytest.mark.django_db
@pytest.mark.parametrize("scopes", [[], ["everything"], ["read", "everything"]])
def test_scopes_must_be_known(scopes: list[str]) -> None:
    """Service and table refuse unknown scopes, and no scopes."""
    with pytest.raises(Refused):
        tokens.issue_token(name="a", scopes=scopes, by=None)
    with pytest.raises(IntegrityError), transaction.atomic():
        ApiToken.objects.create(prefix="abcdefgh", digest=b"", name="a", scopes=scopes)


@pytest.mark.django_db
def test_a_token_is_revoked_once() -> None:
    """The time of the first revocation stays."""
    token = tokens.issue_token(name="a", scopes=["read"], by=None).token

    assert [tokens.revoke_token(token), tokens.revoke_token(token)] == [True, False]


def test_the_page_shows_a_new_token_once(administrator: Client) -> None:
    """Only the response to the form shows the token."""
    answer = administrator.post("/settings/tokens/", FORM)

    (text,) = SHAPE.findall(answer.content.decode())
    token = find_token(text)
    assert (token.name, token.scopes) == ("nightly", ["read", "probe"])
    assert token.expires_at is not None
    assert abs(token.expires_at - timezone.now() - timedelta(days=30)) < timedelta(hours=1)
    again = administrator.get("/settings/tokens/")
    assert_contains(again, f"tg_{token.prefix}_…")
    assert_not_contains(again, text)
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
    """The error is shown at its field."""
    assert_contains(administrator.post("/settings/tokens/", {**FORM, **over}), message)

    assert not ApiToken.objects.exists()


def test_revoking_asks_first(administrator: Client, api: ApiClient) -> None:
    """Only the POST of the confirmation revokes, without a script."""
    address = f"/settings/tokens/{api.token.prefix}/revoke/"

    assert_contains(administrator.get(address), "Revoke a script?")
    assert api.get("/endpoints").status_code == 200
    assertRedirects(administrator.post(address), "/settings/tokens/")

    assert api.get("/endpoints").status_code == 401
    assert_contains(administrator.get("/settings/tokens/"), "revoked")


def test_what_is_called_like_markup_stays_text(administrator: Client) -> None:
    """A token's name is escaped."""
    name = "<script>alert(1)</script>"

    page = administrator.post("/settings/tokens/", {**FORM, "name": name})

    assert_not_contains(page, name)
    assert_contains(page, "&lt;script&gt;")


def test_everybody_has_their_own_tokens(client: Client, api: ApiClient) -> None:
    """Other people's tokens are neither listed nor revocable."""
    addresses = ["/settings/tokens/", f"/settings/tokens/{api.token.prefix}/revoke/"]
    assert [client.get(address).status_code for address in addresses] == [302, 302]
    client.force_login(make_person("bob", Role.OPERATOR))

    assert [client.get(address).status_code for address in addresses] == [200, 404]
    assert client.post(addresses[1]).status_code == 404
    assert_not_contains(client.get("/settings/tokens/"), api.token.shown_prefix)
    (text,) = SHAPE.findall(client.post("/settings/tokens/", FORM).content.decode())
    token = find_token(text)
    assert token.created_by is not None
    assert token.created_by.get_username() == "bob"
    client.post(f"/settings/tokens/{token.prefix}/revoke/")
    assert [token.name for token in ApiToken.objects.filter(revoked_at=None)] == ["a script"]


def test_only_what_one_may_do_is_offered(client: Client, db: None) -> None:
    """Scopes and teams beyond the person's own rights can be neither chosen nor sent."""
    team, foreign = Team.objects.create(name="search"), Team.objects.create(name="billing")
    client.force_login(make_person("vera", Role.VIEWER, team=team))

    page = client.get("/settings/tokens/")
    form = page.context["form"]
    assert form.fields["scopes"].choices == [("read", "Read")]
    assert list(form.fields["team"].queryset) == [team]
    for wrong in ({"scopes": ["operate"]}, {"team": foreign.pk}):
        sent = {**FORM, "scopes": ["read"], **wrong}
        assert_contains(client.post("/settings/tokens/", sent), "available choices")
    assert not ApiToken.objects.exists()

    client.force_login(make_person("new"))
    assert_contains(client.get("/settings/tokens/"), "Ask an administrator for a role")
    assert_contains(client.post("/settings/tokens/", FORM), "Ask an administrator for a role")
    assert not ApiToken.objects.exists()


def test_the_service_gives_no_more_than_its_maker_has(db: None) -> None:
    """The service checks the owner's rights itself; the scope decide needs an owner."""
    team = Team.objects.create(name="search")
    vera = make_person("vera", Role.VIEWER)
    Grant.objects.create(person=vera, team=team, role=Role.APPROVER)

    with pytest.raises(Refused, match="operate"):
        tokens.issue_token(name="a", scopes=["read", "operate"], by=vera)
    with pytest.raises(Refused, match="decide"):
        tokens.issue_token(name="a", scopes=["decide"], by=vera, team=Team.objects.create(name="b"))
    with pytest.raises(Refused, match="needs a person"):
        tokens.issue_token(name="a", scopes=["decide"], by=None)
    assert not ApiToken.objects.exists()
    assert tokens.issue_token(name="a", scopes=["decide"], by=vera, team=team).token.team == team


def test_issue_and_revocation_are_written_down(administrator: Client) -> None:
    """Who issued or revoked which token, without secrets."""
    (text,) = SHAPE.findall(administrator.post("/settings/tokens/", FORM).content.decode())
    prefix = text.split("_")[1]
    administrator.post(f"/settings/tokens/{prefix}/revoke/")

    issued, revoked = AuditEntry.objects.filter(action__startswith="token.").order_by("id")
    assert (issued.action, revoked.action) == ("token.issued", "token.revoked")
    assert [entry.actor for entry in (issued, revoked)] == ["admin", "admin"]
    assert issued.parsed_body["subject"] == f"token {prefix}"
    assert issued.parsed_body["after"]["scopes"] == ["read", "probe"]
    assert text.split("_", 2)[2] not in issued.body + revoked.body


def test_an_unknown_token_cannot_be_revoked(administrator: Client) -> None:
    """An unknown prefix answers 404."""
    assert administrator.get("/settings/tokens/abcdefgh/revoke/").status_code == 404


def test_the_command_prints_the_token_alone(person: User) -> None:
    """A script can use standard output as it is."""
    out = StringIO()

    arguments = ["ci", "--scope", "read", "--scope", "probe", "--lasts", "6h", "--user", "alice"]
    call_command("api_token", *arguments, stdout=out)

    text = out.getvalue()
    token = find_token(text.removesuffix("\n"))
    assert SHAPE.fullmatch(text[:-1])
    assert (token.name, token.scopes, token.created_by) == ("ci", ["read", "probe"], person)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "arguments",
    [
        ["ci"],
        ["ci", "--scope", "all"],
        ["ci", "--scope", "decide"],
        ["--lasts", "soon"],
        ["--user", "nobody"],
        ["--team", "nobody's"],
    ],
    ids=str,
)
def test_the_command_refuses_what_it_does_not_know(arguments: list[str]) -> None:
    """Wrong usage creates no token."""
    if "ci" not in arguments:
        arguments = ["ci", "--scope", "read", *arguments]

    with pytest.raises(CommandError):
        call_command("api_token", *arguments)

    assert not ApiToken.objects.exists()


@pytest.mark.django_db
def test_tokens_of_before_keep_what_they_could() -> None:
    """The migration renames the scope write to operate, and changes nothing else."""
    migration = import_module("dashboard.migrations.0019_token_rights")
    issued = [
        tokens.issue_token(name="a", scopes=scopes, by=None) for scopes in (["read"], ["probe"])
    ]
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    execute("ALTER TABLE dashboard_apitoken DROP CONSTRAINT api_token_scopes_known")
    ApiToken.objects.filter(pk=issued[1].token.pk).update(scopes=["read", "write", "telemetry"])

    for statement, values in migration._renaming("write", "operate"):
        execute(statement, values)

    assert [find_token(token.text).scopes for token in issued] == [
        ["read"],
        ["read", "operate", "telemetry"],
    ]
