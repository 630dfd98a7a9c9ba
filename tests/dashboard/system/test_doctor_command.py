"""`toolgauge doctor` as a process, with the database and broker of the tests."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.db.models.functions import Now

from dashboard.models import Worker
from launcher import running_product
from tests.dashboard.system.builders import backdate_duty, make_healthy_system
from tests.live import environment
from tests.preloaded import run_module

NOWHERE = "postgresql://toolgauge@127.0.0.1:9/toolgauge"


def run_doctor(
    *options: str, env: Mapping[str, str] | None = None, without: tuple[str, ...] = ()
) -> tuple[int, str, str]:
    """Returns the exit code, standard output and standard error."""
    inherited = {name: text for name, text in os.environ.items() if name not in without}
    done = run_module("cli.main", "doctor", *options, env={**inherited, **(env or {})})
    return done.returncode, done.stdout, done.stderr


@pytest.mark.django_db(transaction=True)
def test_a_healthy_system_is_reported_as_json() -> None:
    """It exits with 0; every check has a name, a verdict and a message."""
    make_healthy_system()

    code, out, _ = run_doctor("--json", env=environment())

    body = json.loads(out)
    assert (code, body["verdict"]) == (0, "ok")
    assert {tuple(check) for check in body["checks"]} == {("name", "verdict", "found", "do")}
    assert all(check["verdict"] == "ok" and check["found"] for check in body["checks"])


@pytest.mark.django_db(transaction=True)
def test_a_problem_sets_the_exit_code_and_has_advice() -> None:
    """It exits with 1 and prints the advice."""
    make_healthy_system()
    Worker.objects.update(seen_at=Now() - timedelta(minutes=5))

    code, out, _ = run_doctor(env=environment())

    assert code == 1
    assert "BAD   workers" in out
    assert "-> Start one: celery -A workers worker." in out


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("options", "expected"), [((), 0), (("--strict",), 1)], ids=["lenient", "strict"]
)
def test_a_warning_fails_only_with_strict(options: tuple[str, ...], expected: int) -> None:
    """A missing beat is only a warning."""
    make_healthy_system()
    backdate_duty("beat", timedelta(hours=1))

    code, out, _ = run_doctor(*options, env=environment())

    assert (code, "WARN  beat" in out) == (expected, True)


def test_without_a_database_no_other_check_runs() -> None:
    """It exits with 2 and says where to run the command."""
    code, out, err = run_doctor("--json", env={"DATABASE_URL": NOWHERE})

    (check,) = json.loads(out)["checks"]
    assert (code, check["name"], check["verdict"]) == (2, "database", "bad")
    assert "Traceback" not in err
    assert "Run it where the product runs" in err


@pytest.mark.parametrize(
    ("without", "env", "message"),
    [
        (("SECRET_KEY",), {}, "SECRET_KEY"),
        ((), {"RUN_LEASE": "soon"}, "RUN_LEASE"),
        ((), {"CREDENTIAL_KEYS": "not base64!"}, "CREDENTIAL_KEYS must be base64"),
    ],
    ids=["missing", "wrong", "undecodable"],
)
def test_invalid_settings_are_reported(
    tmp_path: Path, without: tuple[str, ...], env: dict[str, str], message: str
) -> None:
    """It exits with 2 and a message on stderr, without a traceback."""
    code, out, err = run_doctor("--data-dir", str(tmp_path), env=env, without=without)

    assert (code, out) == (2, "")
    assert "Traceback" not in err
    assert message in err


def test_the_servers_of_a_running_product_are_found_in_its_data_folder() -> None:
    """Without addresses in the environment, those in the data folder are used."""
    addresses = ("DATABASE_URL", "REDIS_URL")

    code, out, _ = run_doctor("--data-dir", str(settings.DATA_DIR), without=addresses)

    assert code == 1  # that database has no tables
    assert "ok    database" in out
    assert "ok    redis" in out
    assert "BAD   migrations" in out


def test_the_environment_takes_precedence_over_the_data_folder(tmp_path: Path) -> None:
    """Keys and addresses in the environment are kept, also those given as a file."""
    for name in ("secret-key", "credential-keys"):
        (tmp_path / name).write_text("x")
    environ = {"SECRET_KEY_FILE": "/elsewhere", "DATA_DIR": "/data"}

    added = running_product.find_environment(tmp_path, environ)

    assert added == {"CREDENTIAL_KEYS_FILE": str(tmp_path / "credential-keys")}


def test_an_empty_folder_stays_empty(tmp_path: Path) -> None:
    """The command creates no keys: the product does that at its first start."""
    added = running_product.find_environment(tmp_path, {})

    assert added == {"DATA_DIR": str(tmp_path)}
    assert list(tmp_path.iterdir()) == []
