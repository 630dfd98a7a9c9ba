"""`toolgauge plan`, `apply` and `export` on the database of the tests."""

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
    """The exit code, standard output as JSON where it is, and what was said."""

    def run(*words: str, stdin: str = "") -> tuple[int, Any, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = main([*words, "--data-dir", "/nowhere"])
        out, said = capfd.readouterr()
        return code, json.loads(out) if out.startswith("{") else out, said

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
    """JSON on one output, words on the other; no key on either, nor in the file that is written."""
    make_endpoint(ttl=timedelta(hours=1))

    code, plan, said = toolgauge("plan", str(file), "--exit-code")

    assert (code, plan["counts"]["create"], plan["counts"]["change"]) == (1, 1, 1)
    assert "~ change steady\n    ttl: 1h -> 6h\n" in said
    assert "+ create fresh" in said
    assert "Plan: 1 to create, 1 to change, 0 to remove, 0 unchanged." in said

    code, done, _ = toolgauge("apply", str(file), "--expect", plan["state"])

    assert (code, done["applied"], Credential.objects.get().hint) == (0, True, "mnop")

    out = tmp_path / "out.yaml"
    code, told, _ = toolgauge("export", str(out))

    assert (code, told["file"]) == (0, str(out))
    assert KEY not in out.read_text() + json.dumps([plan, done]) + said
    assert toolgauge("plan", "-", "--prune", "--exit-code", stdin=out.read_text())[0] == 0


def test_an_apply_that_expects_something_else_changes_nothing(
    toolgauge: Command, file: Path
) -> None:
    """Exit 1, with the plan as it is now."""
    code, told, said = toolgauge("apply", str(file), "--expect", "0" * 64)

    assert (code, told["applied"], told["counts"]["create"]) == (1, False, 2)
    assert "Nothing was applied" in said
    assert not Endpoint.objects.exists()


def test_a_wrong_file_is_told_as_compilers_do(toolgauge: Command, file: Path) -> None:
    """Exit 2; all mistakes with file, line and column on both outputs."""
    file.write_text(STEADY.replace("openai", "opanai") + "    ttl: soon\n")

    code, told, said = toolgauge("apply", str(file))

    assert code == 2
    assert [(each["line"], each["column"]) for each in told["errors"]] == [(4, 15), (8, 10)]
    assert f"{file}:4:15: There is no provider “opanai”. Did you mean “openai”?" in said
    assert not Endpoint.objects.exists()


@pytest.mark.parametrize("command", ["plan", "apply", "export"])
def test_a_file_that_cannot_be_opened_is_named(toolgauge: Command, command: str) -> None:
    """Exit 2; nothing on the output."""
    code, out, said = toolgauge(command, "/nowhere/x.yaml")

    assert (code, out) == (2, "")
    assert "/nowhere/x.yaml cannot be" in said


@pytest.mark.parametrize(
    ("env", "expected", "says"),
    [
        ({"SECRET_KEY": ""}, 2, "the settings cannot be used"),
        ({"DATABASE_URL": "postgresql://t@127.0.0.1:9/t"}, 3, "the database cannot be used"),
    ],
    ids=["settings", "database"],
)
def test_a_process_without_settings_or_database_says_so(
    env: dict[str, str], expected: int, says: str
) -> None:
    """Exit 2 for what the caller can mend, 3 where nothing can be known; no traceback."""
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
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_an_export_writes_over_a_file_only_when_forced(toolgauge: Command, file: Path) -> None:
    """A file that people wrote has comments, which would be gone."""
    before, mode = file.read_text(), stat.S_IMODE(file.stat().st_mode)

    assert toolgauge("export", str(file))[0] == 2
    assert file.read_text() == before
    assert toolgauge("export", str(file), "--force")[0] == 0
    assert "endpoints: {}" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == mode
