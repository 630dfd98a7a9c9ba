"""Writes the database of this commit for test_migrations.py, with rows in nearly every table.

    ./run test tests/dashboard/upgrade/make_dump.py

It writes `new.sql.gz`: name the file after what the schema was before, and commit it. Dumps from
before stay as they are. The name of this module keeps it out of other test runs.
"""

from __future__ import annotations

import gzip
import subprocess
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client

from dashboard.accounts.services import external_accounts, sign_in
from dashboard.api import services as idempotency
from dashboard.endpoints.services import try_limit
from dashboard.models import ApiToken
from dashboard.people.services import people
from dashboard.runs import credentials, evidence, pulses
from launcher.binaries import postgres_folder
from probes.outcomes import Outcome
from probes.secret import Secret
from tests.dashboard.runs.builders import build_attempt, complete_run
from tests.dashboard.runs.storage.builders import roll_up_all
from tests.dashboard.upgrade.contents import CREDENTIAL_KEY, ENDPOINT_KEY, FOLDER, passkey
from tests.dashboard.upgrade.databases import rows_per_table
from tests.factories import make_endpoint
from tests.i18n import rows
from tests.live import environment
from tests.security.people import PASSWORD
from tests.security.soft_passkey import add_passkey

# Tables of libraries that the product does not use, and tables with short-lived rows.
EMPTY = {
    *("account_emailaddress", "account_emailconfirmation", "django_session"),
    *("auth_group", "auth_group_permissions", "auth_user_groups", "auth_user_user_permissions"),
    *("socialaccount_socialapp", "socialaccount_socialtoken"),
    *("dashboard_auditturn", "dashboard_observation_overflow"),
}


@pytest.mark.usefixtures("static_files")
@pytest.mark.django_db(transaction=True)
def test_write_the_database_of_this_commit(client: Client, settings: Any) -> None:
    settings.CREDENTIAL_KEYS = [CREDENTIAL_KEY]
    _measure()
    alice = User.objects.create_superuser("alice", password=PASSWORD)
    rows.make_rows(alice)
    client.force_login(alice)
    add_passkey(client, passkey())
    _leave_traces(alice)

    counted = rows_per_table(connection.settings_dict["NAME"])
    connection.close()
    assert {name for name, count in counted.items() if not count} == EMPTY
    command = [str(postgres_folder() / "pg_dump"), "--no-owner", "--no-privileges"]
    url = environment()["DATABASE_URL"]
    dumped = subprocess.run([*command, url], check=True, capture_output=True)
    (FOLDER / "new.sql.gz").write_bytes(gzip.compress(dumped.stdout, mtime=0))


def _measure() -> None:
    """A run with observations and rollups, and pinned evidence."""
    endpoint = make_endpoint(slug="measured")
    credentials.store_key(endpoint, Secret(ENDPOINT_KEY))
    run = complete_run(
        build_attempt(1), build_attempt(2, Outcome.FAIL), build_attempt(3, Outcome.VOID)
    )
    evidence.pin_evidence(run, why="upgrade")
    roll_up_all()
    pulses.record_pulse(pulses.BEAT)


def _leave_traces(person: User) -> None:
    """Traces of requests: failed sign-ins, a linked account, a stored response."""
    people.create_first_administrator(password="drawn and printed")
    external_accounts.link_account(person, "subject-1")
    try_limit.count_try(person)
    with transaction.atomic():
        claimed = idempotency.claim_key(ApiToken.objects.earliest("pk"), "key-1", b"{}")
        assert isinstance(claimed, idempotency.KeyClaim)
        idempotency.store_answer(claimed, status=201, content_type="application/json", body=b"{}")
    for _ in range(6):
        sign_in.record_failure(name=person.username, address="192.0.2.7", browser="")
