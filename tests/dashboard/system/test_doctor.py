"""The doctor's other checks: each is broken alone, and named alone."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.conf import LazySettings

from dashboard.core import broker, partitions
from dashboard.core.broker import BrokerDown
from dashboard.models import Endpoint
from dashboard.models.observation import Observation
from dashboard.runs import credentials, observations, rollups
from dashboard.system.doctor import run_checks, store
from dashboard.system.doctor.check import Check, Verdict
from launcher.binaries import valkey_server
from launcher.ports import free_port
from probes.secret import Secret
from tests.dashboard.system.builders import age, sql
from tests.factories import make_endpoint
from tests.live import eventually, process

NAMES = {
    *("database", "migrations", "clock", "redis", "secret key", "credential keys", "workers"),
    *("schedule", "beat", "leases", "queue", "rollups", "partitions", "overflow"),
    *("stale endpoints", "budgets", "stored credentials", "recount", "retention", "room"),
}


def only(name: str, verdict: Verdict) -> Check:
    """The one check that is not ok; it says what to do."""
    values = {check.name: check for check in run_checks().checks if check.verdict is not Verdict.OK}
    assert {check: one.verdict for check, one in values.items()} == {name: verdict}
    assert values[name].do
    return values[name]


@pytest.fixture
def evicting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A server of its own, since the policy to throw things away is one of the whole server."""
    port = str(free_port())
    options = ("--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path))
    command = [str(valkey_server()), *options, "--maxmemory-policy", "allkeys-lru"]
    monkeypatch.setenv("CELERY_BROKER_WRITE_URL", f"redis://127.0.0.1:{port}/0")
    with process(command, tmp_path / "valkey.log"):
        eventually(_answers)
        yield


def _answers() -> bool:
    try:
        return broker.count_waiting() == 0
    except BrokerDown:
        return False


def test_a_healthy_system_passes_every_check(healthy: Endpoint) -> None:
    """Otherwise the tests below would show nothing."""
    report = run_checks()

    assert {check.name for check in report.checks} == NAMES
    assert [check for check in report.checks if check.verdict is not Verdict.OK] == []
    assert (report.worst, report.reached) == (Verdict.OK, True)


def test_what_the_page_would_show_the_doctor_says_too(healthy: Endpoint) -> None:
    """The checks of the state are among the doctor's."""
    age("beat", timedelta(hours=1))

    only("beat", Verdict.WARN)


def test_a_check_that_cannot_be_made_is_a_line_of_the_report(healthy: Endpoint) -> None:
    """A table that is gone ends neither the visit nor in a traceback."""
    sql("ALTER TABLE dashboard_pulse RENAME TO elsewhere")

    values = {check.name: check for check in run_checks().checks}

    assert values["state"].verdict is Verdict.BAD
    assert "dashboard_pulse" in values["state"].found
    assert values["redis"].verdict is Verdict.OK


def test_a_postgres_that_is_too_old_is_named(
    healthy: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The partitions need what came with version 14."""
    monkeypatch.setattr(store, "OLDEST_POSTGRES", 99)

    report = run_checks()

    assert [check.name for check in report.checks] == ["database"]
    assert "too old" in report.checks[0].found


def test_a_migration_that_is_not_applied_is_named(healthy: Endpoint) -> None:
    """Nothing that reads tables is tried then, since those may not be there."""
    sql("DELETE FROM django_migrations WHERE app = 'sessions'")

    found = only("migrations", Verdict.BAD)

    assert "1 migrations are not applied" in found.found
    assert "workers" not in {check.name for check in run_checks().checks}


def test_clocks_that_differ_are_named(healthy: Endpoint) -> None:
    """The database's clock is moved on by a function that stands before the real one."""
    sql("CREATE SCHEMA moved")
    sql(
        "CREATE FUNCTION moved.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS"
        " $$SELECT pg_catalog.clock_timestamp() + interval '1 minute'$$"
    )
    sql("SET LOCAL search_path = moved, pg_catalog, public")

    assert "differ by" in only("clock", Verdict.WARN).found


@pytest.mark.usefixtures("evicting")
def test_a_broker_that_may_drop_messages_is_named(healthy: Endpoint) -> None:
    """It says which policy there is, and which there should be."""
    found = only("redis", Verdict.BAD)

    assert "allkeys-lru" in found.found
    assert "noeviction" in found.do


@pytest.mark.usefixtures("no_broker")
def test_a_broker_that_does_not_answer_is_named_once(healthy: Endpoint) -> None:
    """One fault, one line."""
    only("redis", Verdict.BAD)


def test_the_broker_says_what_it_is(healthy: Endpoint) -> None:
    """Redis or Valkey, and which version."""
    (check,) = [check for check in run_checks().checks if check.name == "redis"]

    assert check.found.startswith(("Valkey ", "Redis "))
    assert "noeviction" in check.found


@pytest.mark.parametrize("key", ["short", "ab" * 30], ids=["short", "repeated"])
def test_a_secret_key_that_can_be_guessed_is_named(
    healthy: Endpoint, settings: LazySettings, key: str
) -> None:
    """And it is never shown."""
    settings.SECRET_KEY = key

    assert key not in only("secret key", Verdict.BAD).found


def test_missing_credential_keys_are_named(healthy: Endpoint, settings: LazySettings) -> None:
    """No API key could be stored."""
    settings.CREDENTIAL_KEYS = []

    only("credential keys", Verdict.BAD)


def test_a_credential_key_of_the_wrong_length_is_named(
    healthy: Endpoint, settings: LazySettings
) -> None:
    """AES-256 takes 32 bytes."""
    settings.CREDENTIAL_KEYS = [b"k" * 32, b"k" * 31]

    assert "32 bytes" in only("credential keys", Verdict.BAD).found


def test_credentials_that_no_key_opens_are_counted_and_named(
    healthy: Endpoint, settings: LazySettings
) -> None:
    """The endpoints whose key was sealed with a lost one, and no others."""
    lost, kept = b"a" * 32, b"b" * 32
    settings.CREDENTIAL_KEYS = [lost]
    credentials.store_key(healthy, Secret("planted-one"))
    settings.CREDENTIAL_KEYS = [kept]
    credentials.store_key(make_endpoint(slug="fine"), Secret("planted-two"))

    found = only("stored credentials", Verdict.BAD).found

    assert found == "1 credential of 2 cannot be opened: steady."


def test_a_tampered_credential_is_named(healthy: Endpoint) -> None:
    """The seal covers every byte."""
    credentials.store_key(healthy, Secret("planted"))
    sql("UPDATE dashboard_credential SET sealed = sealed || '\\x00'::bytea")

    only("stored credentials", Verdict.BAD)


def test_a_rollup_that_does_not_add_up_is_named(healthy: Endpoint) -> None:
    """Yesterday is counted again and compared."""
    yesterday = datetime.now(UTC) - timedelta(days=1)
    partitions.ensure_months([yesterday.date()])
    row = Observation(healthy.profile.pk, 1, observations.LIVE, 1, yesterday)
    observations.store_batch([row], batch=uuid.uuid4())
    rollups.roll_up()
    assert store.recount().verdict is Verdict.OK

    sql("UPDATE dashboard_rolluphour SET trials = trials + 1")

    assert "1 rollup of" in only("recount", Verdict.BAD).found


def test_yesterday_is_not_counted_where_it_is_not_kept(
    healthy: Endpoint, settings: LazySettings
) -> None:
    """There is nothing to compare with."""
    settings.KEEP_RAW_DAYS = 1

    assert (store.recount().verdict, "not kept" in store.recount().found) == (Verdict.OK, True)


def test_a_partition_beyond_its_limit_is_named(healthy: Endpoint, settings: LazySettings) -> None:
    """A day's grace is given, since retention comes by once an hour."""
    settings.KEEP_RAW_DAYS = 3
    today = partitions.database_today()
    for days in (4, 5):
        make_day(today - timedelta(days=days))

    found = only("retention", Verdict.WARN).found

    assert f"{today - timedelta(days=5):%Y%m%d}" in found
    assert f"{today - timedelta(days=4):%Y%m%d}" not in found


def test_a_full_disk_is_named(
    healthy: Endpoint, settings: LazySettings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of the folder that will be made, the nearest that is there counts."""
    settings.DATA_DIR = tmp_path / "not" / "yet"
    monkeypatch.setattr(store, "MIN_FREE_BYTES", 2**80)

    assert str(tmp_path) in only("room", Verdict.WARN).found


def make_day(day: object) -> None:
    sql(
        f"CREATE TABLE dashboard_observation_{day:%Y%m%d} PARTITION OF dashboard_observation"
        f" FOR VALUES FROM ('{day} 00:00Z') TO ('{day} 23:59Z')"
    )
