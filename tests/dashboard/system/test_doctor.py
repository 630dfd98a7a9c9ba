"""The doctor's other checks: each single problem is reported by one check."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.db import transaction
from django.test import Client

from dashboard.core import broker, partitions
from dashboard.core.broker import BrokerDown
from dashboard.models import Endpoint
from dashboard.models.observation import Observation
from dashboard.runs import credentials, observations, rollups
from dashboard.system import readiness
from dashboard.system.doctor import run_checks, store
from dashboard.system.doctor.check import Check, Verdict
from launcher.binaries import valkey_server
from launcher.ports import free_port
from probes.secret import Secret
from tests.dashboard.system.builders import backdate_duty, sql
from tests.factories import make_endpoint
from tests.live import eventually, process

NAMES = {
    *("database", "migrations", "clock", "redis", "secret key", "credential keys", "workers"),
    *("schedule", "beat", "leases", "queue", "rollups", "partitions", "overflow"),
    *("stale endpoints", "budgets", "stored credentials", "recount", "retention", "room"),
    "writes",
}


def only_problem(name: str, verdict: Verdict) -> Check:
    """The only check that is not ok; it has advice."""
    problems = {c.name: c for c in run_checks().checks if c.verdict is not Verdict.OK}
    assert {check.name: check.verdict for check in problems.values()} == {name: verdict}
    assert problems[name].advice
    return problems[name]


@pytest.fixture
def evicting_broker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A separate server, since the eviction policy applies to a whole server."""
    port = str(free_port())
    options = ("--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path))
    command = [str(valkey_server()), *options, "--maxmemory-policy", "allkeys-lru"]
    monkeypatch.setenv("CELERY_BROKER_WRITE_URL", f"redis://127.0.0.1:{port}/0")
    with process(command, tmp_path / "valkey.log"):
        eventually(_is_reachable)
        yield


def _is_reachable() -> bool:
    try:
        return broker.count_waiting() == 0
    except BrokerDown:
        return False


def test_a_healthy_system_passes_every_check(healthy: Endpoint) -> None:
    """Otherwise the tests below would prove nothing."""
    report = run_checks()

    assert {check.name for check in report.checks} == NAMES
    assert [check for check in report.checks if check.verdict is not Verdict.OK] == []
    assert (report.worst, report.is_reachable) == (Verdict.OK, True)


def test_the_doctor_includes_the_checks_of_the_page(healthy: Endpoint) -> None:
    """The doctor runs the checks of the state."""
    backdate_duty("beat", timedelta(hours=1))

    only_problem("beat", Verdict.WARN)


def test_a_check_that_fails_to_run_is_reported(healthy: Endpoint) -> None:
    """A missing table neither stops the other checks nor raises."""
    sql("ALTER TABLE dashboard_pulse RENAME TO elsewhere")

    checks = {check.name: check for check in run_checks().checks}

    assert checks["state"].verdict is Verdict.BAD
    assert "dashboard_pulse" in checks["state"].message
    assert checks["redis"].verdict is Verdict.OK


def test_a_postgres_that_is_too_old_is_reported(
    healthy: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The partitions need Postgres 14."""
    monkeypatch.setattr(store, "MIN_POSTGRES", 99)

    report = run_checks()

    assert [check.name for check in report.checks] == ["database"]
    assert "too old" in report.checks[0].message


def test_a_migration_that_is_not_applied_is_reported(healthy: Endpoint) -> None:
    """The checks that read tables do not run, since tables may be missing."""
    sql("DELETE FROM django_migrations WHERE app = 'sessions'")

    check = only_problem("migrations", Verdict.BAD)

    assert "1 migrations are not applied" in check.message
    assert "workers" not in {check.name for check in run_checks().checks}


def test_clocks_that_differ_are_reported(healthy: Endpoint) -> None:
    """A function that shadows the real one moves the clock of the database."""
    sql("CREATE SCHEMA moved")
    sql(
        "CREATE FUNCTION moved.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS"
        " $$SELECT pg_catalog.clock_timestamp() + interval '1 minute'$$"
    )
    sql("SET LOCAL search_path = moved, pg_catalog, public")

    assert "differ by" in only_problem("clock", Verdict.WARN).message


@pytest.mark.usefixtures("evicting_broker")
def test_a_broker_that_may_drop_messages_is_reported(healthy: Endpoint) -> None:
    """The message names the policy, the advice the right one."""
    check = only_problem("redis", Verdict.BAD)

    assert "allkeys-lru" in check.message
    assert "noeviction" in check.advice


@pytest.mark.usefixtures("no_broker")
def test_a_broker_that_does_not_answer_is_reported_once(healthy: Endpoint) -> None:
    """One problem is reported by one check."""
    only_problem("redis", Verdict.BAD)


def test_the_broker_is_identified(healthy: Endpoint) -> None:
    """The message names Redis or Valkey and the version."""
    (check,) = [check for check in run_checks().checks if check.name == "redis"]

    assert check.message.startswith(("Valkey ", "Redis "))
    assert "noeviction" in check.message


@pytest.mark.parametrize("key", ["short", "ab" * 30], ids=["short", "repeated"])
def test_a_weak_secret_key_is_reported(healthy: Endpoint, settings: LazySettings, key: str) -> None:
    """The key is not shown."""
    settings.SECRET_KEY = key

    assert key not in only_problem("secret key", Verdict.BAD).message


def test_missing_credential_keys_are_reported(healthy: Endpoint, settings: LazySettings) -> None:
    """Without them no API key can be stored."""
    settings.CREDENTIAL_KEYS = []

    only_problem("credential keys", Verdict.BAD)


def test_a_credential_key_of_the_wrong_length_is_reported(
    healthy: Endpoint, settings: LazySettings
) -> None:
    """AES-256 needs 32 bytes."""
    settings.CREDENTIAL_KEYS = [b"k" * 32, b"k" * 31]

    assert "32 bytes" in only_problem("credential keys", Verdict.BAD).message


def test_credentials_that_cannot_be_decrypted_are_reported(
    healthy: Endpoint, settings: LazySettings
) -> None:
    """Only the endpoints whose encryption key was lost are listed."""
    lost, kept = b"a" * 32, b"b" * 32
    settings.CREDENTIAL_KEYS = [lost]
    credentials.store_key(healthy, Secret("planted-one"))
    settings.CREDENTIAL_KEYS = [kept]
    credentials.store_key(make_endpoint(slug="fine"), Secret("planted-two"))

    message = only_problem("stored credentials", Verdict.BAD).message

    assert message == "1 credential of 2 cannot be opened: steady."


def test_a_tampered_credential_is_reported(healthy: Endpoint) -> None:
    """The seal covers every byte."""
    credentials.store_key(healthy, Secret("planted"))
    sql("UPDATE dashboard_credential SET sealed = sealed || '\\x00'::bytea")

    only_problem("stored credentials", Verdict.BAD)


def test_a_wrong_rollup_is_reported(healthy: Endpoint) -> None:
    """The observations of yesterday are recounted."""
    yesterday = datetime.now(UTC) - timedelta(days=1)
    partitions.ensure_months([yesterday.date()])
    row = Observation(healthy.profile.pk, 1, observations.LIVE, 1, yesterday)
    observations.store_batch([row], batch=uuid.uuid4())
    rollups.roll_up()
    assert store.recount().verdict is Verdict.OK

    sql("UPDATE dashboard_rolluphour SET trials = trials + 1")

    assert "1 rollup of" in only_problem("recount", Verdict.BAD).message


def test_yesterday_is_not_recounted_if_it_is_not_kept(
    healthy: Endpoint, settings: LazySettings
) -> None:
    """There are no observations to compare with."""
    settings.KEEP_RAW_DAYS = 1

    assert (store.recount().verdict, "not kept" in store.recount().message) == (Verdict.OK, True)


def test_a_partition_beyond_its_limit_is_reported(
    healthy: Endpoint, settings: LazySettings
) -> None:
    """The limit has one day of grace, since retention runs hourly."""
    settings.KEEP_RAW_DAYS = 3
    today = partitions.database_today()
    for days in (4, 5):
        make_partition(today - timedelta(days=days))

    message = only_problem("retention", Verdict.WARN).message

    assert f"{today - timedelta(days=5):%Y%m%d}" in message
    assert f"{today - timedelta(days=4):%Y%m%d}" not in message


def test_a_full_disk_is_reported(
    healthy: Endpoint, settings: LazySettings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A disk that fills is a warning, a full one a failure.

    For a folder that does not exist yet, the nearest existing parent counts.
    """
    settings.DATA_DIR = tmp_path / "not" / "yet"
    monkeypatch.setattr(store, "LOW_FREE_BYTES", 2**80)
    assert str(tmp_path) in only_problem("room", Verdict.WARN).message

    monkeypatch.setattr(readiness, "MIN_FREE_BYTES", 2**80)
    assert str(tmp_path) in only_problem("room", Verdict.BAD).message
    answer = Client().get("/readyz")
    assert answer.status_code == 503
    assert str(tmp_path) in answer.json()["problems"][0]


def test_a_database_that_cannot_write_is_reported(healthy: Endpoint) -> None:
    """A standby, or a database that was made read-only, serves no pages: each writes rows."""
    with transaction.atomic():
        sql("SET LOCAL transaction_read_only = on")
        message = only_problem("writes", Verdict.BAD).message
        answer = Client().get("/readyz")
        transaction.set_rollback(True)

    assert "read-only" in message
    assert answer.status_code == 503
    assert "read-only" in answer.json()["problems"][0]


def make_partition(day: object) -> None:
    sql(
        f"CREATE TABLE dashboard_observation_{day:%Y%m%d} PARTITION OF dashboard_observation"
        f" FOR VALUES FROM ('{day} 00:00Z') TO ('{day} 23:59Z')"
    )
