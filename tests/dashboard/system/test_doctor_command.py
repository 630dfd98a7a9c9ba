"""`toolgauge doctor` as a process, on the database and the broker of the tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.db.models.functions import Now

from dashboard.models import Worker
from launcher import running_product
from tests.dashboard.system.builders import age, make_healthy_system
from tests.live import ROOT, environment

NOWHERE = "postgresql://toolgauge@127.0.0.1:9/toolgauge"


def doctor(
    *options: str, env: Mapping[str, str] | None = None, without: tuple[str, ...] = ()
) -> tuple[int, str, str]:
    """The exit code, and what the command wrote to its outputs."""
    given = {name: text for name, text in os.environ.items() if name not in without}
    done = subprocess.run(
        [sys.executable, "-m", "cli.main", "doctor", *options],
        cwd=ROOT,
        env={**given, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.django_db(transaction=True)
def test_a_healthy_system_is_told_as_json() -> None:
    """Exit 0; every check with its name, its verdict and what was found."""
    make_healthy_system()

    code, out, _ = doctor("--json", env=environment())

    body = json.loads(out)
    assert (code, body["verdict"]) == (0, "ok")
    assert {tuple(check) for check in body["checks"]} == {("name", "verdict", "found", "do")}
    assert all(check["verdict"] == "ok" and check["found"] for check in body["checks"])


@pytest.mark.django_db(transaction=True)
def test_what_is_broken_makes_the_exit_code_and_says_what_to_do() -> None:
    """Exit 1, for people in words."""
    make_healthy_system()
    Worker.objects.update(seen_at=Now() - timedelta(minutes=5))

    code, out, _ = doctor(env=environment())

    assert code == 1
    assert "BAD   workers" in out
    assert "-> Start one: celery -A workers worker." in out


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("options", "expected"), [((), 0), (("--strict",), 1)], ids=["lenient", "strict"]
)
def test_a_warning_is_an_error_only_for_the_strict(options: tuple[str, ...], expected: int) -> None:
    """A beat may be missing, unless one wants to hear of it."""
    make_healthy_system()
    age("beat", timedelta(hours=1))

    code, out, _ = doctor(*options, env=environment())

    assert (code, "WARN  beat" in out) == (expected, True)


def test_a_database_that_does_not_answer_ends_the_visit() -> None:
    """Exit 2; nothing else can be said, and where to run the command is."""
    code, out, err = doctor("--json", env={"DATABASE_URL": NOWHERE})

    (check,) = json.loads(out)["checks"]
    assert (code, check["name"], check["verdict"]) == (2, "database", "bad")
    assert "Traceback" not in err
    assert "Run it where the product runs" in err


@pytest.mark.parametrize(
    ("without", "env", "named"),
    [
        (("SECRET_KEY",), {}, "SECRET_KEY"),
        ((), {"RUN_LEASE": "soon"}, "RUN_LEASE"),
        ((), {"CREDENTIAL_KEYS": "not base64!"}, "CREDENTIAL_KEYS must be base64"),
    ],
    ids=["missing", "wrong", "undecodable"],
)
def test_wrong_settings_are_told(
    tmp_path: Path, without: tuple[str, ...], env: dict[str, str], named: str
) -> None:
    """Exit 2, a sentence instead of a traceback, and nothing on standard output."""
    code, out, err = doctor("--data-dir", str(tmp_path), env=env, without=without)

    assert (code, out) == (2, "")
    assert "Traceback" not in err
    assert named in err


def test_the_servers_of_a_running_product_are_found_in_its_data_folder() -> None:
    """With no address given, the folder tells where the servers of the tests are."""
    addresses = ("DATABASE_URL", "REDIS_URL")

    code, out, _ = doctor("--data-dir", str(settings.DATA_DIR), without=addresses)

    assert code == 1  # that database is there, and nobody has made tables in it
    assert "ok    database" in out
    assert "ok    redis" in out
    assert "BAD   migrations" in out


def test_what_was_given_wins_over_the_data_folder(tmp_path: Path) -> None:
    """Keys and addresses of the environment are left alone, also those that stand in a file."""
    for name in ("secret-key", "credential-keys"):
        (tmp_path / name).write_text("x")
    given = {"SECRET_KEY_FILE": "/elsewhere", "DATA_DIR": "/data"}

    found = running_product.find_environment(tmp_path, given)

    assert found == {"CREDENTIAL_KEYS_FILE": str(tmp_path / "credential-keys")}


def test_an_empty_folder_gives_nothing_and_stays_empty(tmp_path: Path) -> None:
    """Looking makes no keys: a product that starts there later makes its own."""
    found = running_product.find_environment(tmp_path, {})

    assert found == {"DATA_DIR": str(tmp_path)}
    assert list(tmp_path.iterdir()) == []
