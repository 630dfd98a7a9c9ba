"""`toolgauge plan`, `apply` and `export` on the test database."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from cli.main import main
from dashboard.models import Credential, Endpoint
from tests.dashboard.endpoints.as_code.builders import NEW, STEADY
from tests.factories import make_endpoint
from tests.live import ROOT, environment

KEY = "sk-abcdefghijklmnop"
Command = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def toolgauge(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, db: None
) -> Command:
    """Returns the exit code, standard output (parsed if it is JSON) and standard error."""

    def run(*arguments: str, stdin: str = "") -> tuple[int, Any, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = main([*arguments, "--data-dir", "/nowhere"])
        out, stderr = capfd.readouterr()
        return code, json.loads(out) if out.startswith("{") else out, stderr

    monkeypatch.setenv("TEAM_KEY", KEY)
    return run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "endpoints.yaml"
    path.write_text(STEADY + NEW + "    api_key_env: TEAM_KEY\n")
    return path


def test_a_file_is_planned_applied_and_exported(
    toolgauge: Command, file: Path, tmp_path: Path
) -> None:
    """JSON is on stdout, text on stderr, and no key on either or in the exported file."""
    make_endpoint(ttl=timedelta(hours=1))

    code, plan, stderr = toolgauge("plan", str(file), "--exit-code")

    assert (code, plan["counts"]["create"], plan["counts"]["change"]) == (1, 1, 1)
    assert "~ change steady\n    ttl: 1h -> 6h\n" in stderr
    assert "+ create fresh" in stderr
    assert "Plan: 1 to create, 1 to change, 0 to remove, 0 unchanged." in stderr

    code, done, _ = toolgauge("apply", str(file), "--expect", plan["state"])

    assert (code, done["applied"], Credential.objects.get().hint) == (0, True, "mnop")

    out = tmp_path / "out.yaml"
    code, result, _ = toolgauge("export", str(out))

    assert (code, result["file"]) == (0, str(out))
    assert KEY not in out.read_text() + json.dumps([plan, done]) + stderr
    assert toolgauge("plan", "-", "--prune", "--exit-code", stdin=out.read_text())[0] == 0


def test_an_apply_with_another_expected_state_changes_nothing(
    toolgauge: Command, file: Path
) -> None:
    """It exits with 1 and prints the current plan."""
    code, result, stderr = toolgauge("apply", str(file), "--expect", "0" * 64)

    assert (code, result["applied"], result["counts"]["create"]) == (1, False, 2)
    assert "Nothing was applied" in stderr
    assert not Endpoint.objects.exists()


def test_mistakes_are_reported_with_file_line_and_column(toolgauge: Command, file: Path) -> None:
    """It exits with 2 and prints all mistakes on both outputs."""
    file.write_text(STEADY.replace("openai", "opanai") + "    ttl: soon\n")

    code, result, stderr = toolgauge("apply", str(file))

    assert code == 2
    assert [(each["line"], each["column"]) for each in result["errors"]] == [(4, 15), (8, 10)]
    assert f"{file}:4:15: There is no provider “opanai”. Did you mean “openai”?" in stderr
    assert not Endpoint.objects.exists()


@pytest.mark.parametrize("command", ["plan", "apply", "export"])
def test_a_file_that_cannot_be_opened_is_named(toolgauge: Command, command: str) -> None:
    """It exits with 2 and prints nothing on stdout."""
    code, out, stderr = toolgauge(command, "/nowhere/x.yaml")

    assert (code, out) == (2, "")
    assert "/nowhere/x.yaml cannot be" in stderr


@pytest.mark.parametrize(
    ("env", "expected", "message"),
    [
        ({"SECRET_KEY": ""}, 2, "the settings cannot be used"),
        ({"DATABASE_URL": "postgresql://t@127.0.0.1:9/t"}, 3, "the database cannot be used"),
    ],
    ids=["settings", "database"],
)
def test_missing_settings_and_database_are_reported(
    env: dict[str, str], expected: int, message: str
) -> None:
    """It exits with 2 for an error of the caller, 3 for the database, without a traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "cli.main", "plan", "-", "--data-dir", "/nowhere"],
        cwd=ROOT,
        env={**os.environ, **environment(), **env},
        input=STEADY,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert (done.returncode, done.stdout) == (expected, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_an_export_writes_over_a_file_only_when_forced(toolgauge: Command, file: Path) -> None:
    """An existing file may have comments, which an export would lose."""
    before, mode = file.read_text(), stat.S_IMODE(file.stat().st_mode)

    assert toolgauge("export", str(file))[0] == 2
    assert file.read_text() == before
    assert toolgauge("export", str(file), "--force")[0] == 0
    assert "endpoints: {}" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == mode
