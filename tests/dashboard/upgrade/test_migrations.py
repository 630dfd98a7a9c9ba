"""Every migration, from an empty database and from an installation of an earlier commit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.utils.http import int_to_base36
from fido2.utils import websafe_encode
from pytest_django import DjangoDbBlocker

from dashboard.accounts import second_factor
from dashboard.audit import chain
from dashboard.models import (
    Attempt,
    AuditEntry,
    Endpoint,
    Incident,
    LoginFailure,
    RolloutRequest,
    Run,
)
from dashboard.runs import credentials, evidence
from tests.dashboard.upgrade.contents import CREDENTIAL_KEY, ENDPOINT_KEY, FOLDER, passkey
from tests.dashboard.upgrade.databases import (
    connect_to,
    empty_database,
    load_dump,
    rows_per_table,
    schema_of,
)
from tests.security.people import app_code, is_signed_in, sign_in

DUMPS = sorted(FOLDER.glob("*.sql.gz"))
# Django writes these by itself after each migration.
BY_DJANGO = {"auth_permission", "django_content_type", "django_migrations"}
# Tables of django-axes, which a table of ours has replaced.
REPLACED = {
    *("axes_accessattempt", "axes_accessattemptexpiration"),
    *("axes_accessfailurelog", "axes_accesslog"),
}
LISTS = (
    *("/", "/incidents/", "/rollouts/", "/audit/", "/compare/"),
    *("/settings/", "/settings/people/", "/settings/teams/", "/settings/tokens/"),
    *("/settings/security/", "/settings/sessions/", "/settings/channels/", "/settings/deliveries/"),
    *("/settings/maintenance/", "/settings/tools/", "/settings/gates/", "/settings/system/"),
)

pytestmark = pytest.mark.usefixtures("static_files")


@dataclass(frozen=True, slots=True)
class Upgraded:
    """A database that was loaded from a dump and migrated."""

    name: str
    rows_before: dict[str, int]
    rows_after: dict[str, int]


@pytest.fixture(scope="module", params=DUMPS, ids=lambda path: path.name.partition(".")[0])
def upgraded(
    request: pytest.FixtureRequest, django_db_blocker: DjangoDbBlocker
) -> Iterator[Upgraded]:
    dump: Path = request.param
    with django_db_blocker.unblock(), empty_database("upgraded") as name:
        load_dump(dump, name)
        before = rows_per_table(name)
        with connect_to(name):
            call_command("migrate", verbosity=0)
            yield Upgraded(name, before, rows_per_table(name))


@pytest.fixture
def alice(upgraded: Upgraded, settings: Any) -> User:
    """An administrator with a password, an app and a passkey."""
    settings.CREDENTIAL_KEYS = [CREDENTIAL_KEY]
    return User.objects.get(username="alice")


def test_all_migrations_from_an_empty_database_give_the_same_schema(upgraded: Upgraded) -> None:
    """An upgraded installation has the same schema as a new one."""
    with empty_database("fresh") as name:
        with connect_to(name):
            call_command("migrate", verbosity=0)
        fresh, ours = schema_of(name), schema_of(upgraded.name)

    assert len(fresh) > 500
    assert ours - fresh == set()
    assert fresh - ours == set()


def test_no_model_differs_from_the_migrations(upgraded: Upgraded) -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def test_an_upgrade_loses_no_row(upgraded: Upgraded) -> None:
    before = upgraded.rows_before
    expected = {name: before[name] for name in before.keys() - BY_DJANGO - REPLACED}

    assert {name: upgraded.rows_after.get(name) for name in expected} == expected
    assert not REPLACED & upgraded.rows_after.keys()


def test_failed_sign_ins_still_count(alice: User) -> None:
    """An upgrade does not reset failed sign-ins."""
    failures = LoginFailure.objects.filter(name=alice.username).values_list("address", "failures")

    assert list(failures) == [("192.0.2.7", 6)]


def test_lists_and_details_of_what_was_stored_are_shown(alice: User, client: Client) -> None:
    client.force_login(alice)
    run = Run.objects.get(endpoint__slug="measured")
    details = (
        *("/endpoints/measured/", "/endpoints/steady-one/", f"/runs/{run.pk}/"),
        f"/runs/{run.pk}/attempts/format/2/",
        f"/incidents/{Incident.objects.latest('pk').pk}/",
        f"/rollouts/{RolloutRequest.objects.latest('pk').pk}/",
        f"/audit/{AuditEntry.objects.latest('pk').pk}/",
    )

    statuses = {path: client.get(path).status_code for path in (*LISTS, *details)}

    assert {path: status for path, status in statuses.items() if status != 200} == {}
    assert "measured" in client.get("/").content.decode()


def test_the_audit_chain_is_whole_and_goes_on(alice: User, client: Client) -> None:
    linked = chain.verify_chain()
    client.force_login(alice)
    client.post("/endpoints/measured/notes/", {"text": "upgraded"})
    longer = chain.verify_chain()

    assert linked.links > 20
    assert (linked.breaks, longer.breaks) == ((), ())
    assert longer.links > linked.links


def test_evidence_and_keys_are_readable(alice: User) -> None:
    measured = Endpoint.objects.get(slug="measured")
    attempts = Attempt.objects.filter(run__endpoint=measured)

    key = credentials.read_key(measured)

    assert key is not None
    assert key.reveal() == ENDPOINT_KEY
    assert [bool(evidence.read_evidence(attempt)) for attempt in attempts] == [True] * 3


def test_people_sign_in_with_the_second_factors_they_had(alice: User) -> None:
    app = Authenticator.objects.get(user=alice, type=Authenticator.Type.TOTP)
    by_code = Client(REMOTE_ADDR="192.0.2.1")
    sign_in(by_code, "alice")
    by_code.post("/login/code/", {"code": app_code(second_factor.unseal(app.data["secret"]))})

    by_passkey, key = Client(REMOTE_ADDR="192.0.2.2"), passkey()
    key.owner = websafe_encode(int_to_base36(alice.pk).encode())
    answer = key.get(by_passkey.post("/login/passkey/options/").json())
    by_passkey.post("/login/passkey/", {"credential": answer})

    assert is_signed_in(by_code)
    assert is_signed_in(by_passkey)
