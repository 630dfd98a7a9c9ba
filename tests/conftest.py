"""Shared fixtures: real Postgres and Valkey, no network beyond this machine."""

from __future__ import annotations

import gc
import ipaddress
import socket
import ssl
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.core.management import call_command
from django.db import connection
from django.test import TransactionTestCase
from pytest_django import DjangoDbBlocker
from typing_extensions import override
from whitenoise.middleware import WhiteNoiseMiddleware
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from tests import migrated
from tests.extent import EXTENT

pytest_plugins = ["tests.simulators.plugin"]

hypothesis.settings.register_profile("extent", max_examples=EXTENT.examples)
hypothesis.settings.load_profile("extent")

# Truncating creates new files for every table and index, even of an empty table; most are empty.
# Like TRUNCATE, the lock waits for transactions that are still running. A replica checks no foreign
# keys, so the order does not matter. Content types and permissions are those of a new installation,
# also after a flush by Django. The audit log refuses even its owner, who must say more.
EMPTY_TABLES = """
DO $$ DECLARE tables text[]; name text; filled boolean; BEGIN
    SELECT array_agg(oid::regclass::text) INTO tables FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname NOT IN (
            'django_migrations', 'django_content_type', 'auth_permission',
            'dashboard_auditentry', 'dashboard_auditlink');
    EXECUTE 'LOCK TABLE ' || array_to_string(tables, ', ') || ' IN ACCESS EXCLUSIVE MODE';
    PERFORM set_config('session_replication_role', 'replica', true);
    FOREACH name IN ARRAY tables LOOP
        EXECUTE 'SELECT EXISTS (SELECT FROM ' || name || ')' INTO filled;
        IF filled THEN EXECUTE 'DELETE FROM ' || name; END IF;
    END LOOP;
    IF EXISTS (SELECT FROM dashboard_auditentry) THEN
        ALTER TABLE dashboard_auditentry DISABLE TRIGGER audit_no_truncate;
        ALTER TABLE dashboard_auditlink DISABLE TRIGGER audit_no_truncate;
        TRUNCATE dashboard_auditentry, dashboard_auditlink;
        ALTER TABLE dashboard_auditentry ENABLE ALWAYS TRIGGER audit_no_truncate;
        ALTER TABLE dashboard_auditlink ENABLE ALWAYS TRIGGER audit_no_truncate;
    END IF;
END $$
"""


# One process each: their servers and the browser start only once.
TOGETHER = ("tests/faults/", "tests/browser/")
# They take long, so they start first: the other processes run the short ones meanwhile.
LONG = (
    *TOGETHER,
    "tests/deploy/test_operations.py",
    "tests/stories/",
    "tests/dashboard/runs/test_run_machine.py",
    "tests/launcher/",
    "tests/workers/",
    "tests/deploy/test_backup.py",
    "tests/dashboard/demo/",
    "tests/security/",
    "tests/i18n/",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first, the longest before the others, after the order was shuffled."""
    items.sort(key=lambda item: [not item.nodeid.startswith(long) for long in LONG])


def pytest_collection_finish() -> None:
    """Freeze modules and collected tests: the garbage collector need not visit them."""
    gc.collect()
    gc.freeze()


class ByFile(LoadFileScheduling):  # type: ignore[misc]  # it ships no types
    """One process per file, and one for all files of a folder whose servers are expensive."""

    @override
    def _split_scope(self, nodeid: str) -> str:
        folder = next((folder for folder in TOGETHER if nodeid.startswith(folder)), None)
        return folder or super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile | None:
    return ByFile(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture(scope="session", autouse=True)
def only_loopback() -> Iterator[None]:
    """No test process may connect to another machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        host = address[0] if isinstance(address, tuple) else "127.0.0.1"
        if host != "localhost" and not ipaddress.ip_address(host).is_loopback:
            raise AssertionError(f"a test tried to connect to {host}")
        connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        yield


@pytest.fixture(scope="session", autouse=True)
def certificates_read_once() -> Iterator[None]:
    """Reading the root certificates takes longer than most requests to a simulated vendor."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", cache(ssl.create_default_context))
        yield


@pytest.fixture(scope="session", autouse=True)
def static_files_listed_once() -> Iterator[None]:
    """Every test client creates the middleware, which lists a folder that does not change."""
    list_files, listings = (
        WhiteNoiseMiddleware.update_files_dictionary,
        dict[tuple[str, str], Any](),
    )

    def list_once(self: WhiteNoiseMiddleware, root: str, prefix: str) -> None:
        if (root, prefix) not in listings:
            list_files(self, root, prefix)
            listings[root, prefix] = self.files
        self.files = listings[root, prefix]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "update_files_dictionary", list_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def passwords_hashed_quickly() -> Iterator[None]:
    """The same hasher with minimal cost; processes of the product use their own settings."""
    least = {"time_cost": 1, "memory_cost": 8, "parallelism": 1}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in least.items():
            patch.setattr(Argon2PasswordHasher, name, value)
        yield


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None,
    django_db_modify_db_settings: None,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[None]:
    """One database per process, copied from one that was migrated once for all."""
    database = connection.settings_dict
    name = database["TEST"]["NAME"] or f"test_{database['NAME']}"  # xdist's processes are named
    with django_db_blocker.unblock():
        migrated.drop_database(name)
        migrated.copy_database(name)
        migrated.connect_to(name)
    yield
    with django_db_blocker.unblock():
        connection.close()
        migrated.drop_database(name)


@pytest.fixture(scope="session")
def static_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Collected once, since pages link to files by their hash."""
    from django.conf import settings

    settings.STATIC_ROOT = tmp_path_factory.mktemp("static")
    call_command("collectstatic", interactive=False, verbosity=0)
    return Path(settings.STATIC_ROOT)


@pytest.fixture(scope="session", autouse=True)
def only_filled_tables_emptied() -> Iterator[None]:
    """Empty also the tables that Django does not manage, and only those that have rows."""

    def empty_tables(self: TransactionTestCase) -> None:
        with connection.cursor() as cursor:
            cursor.execute(EMPTY_TABLES)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", empty_tables)
        yield
