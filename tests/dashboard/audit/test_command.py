"""`toolgauge audit`: what it prints, and how it exits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
import structlog

from cli.main import main
from dashboard.audit import chain
from dashboard.core.sql import execute
from tests.dashboard.audit.builders import link_now, record
from tests.live import ROOT
from workers.upkeep import upkeep

pytestmark = pytest.mark.django_db


def toolgauge(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["audit", *words, "--data-dir", "/nowhere"])
    out, said = capfd.readouterr()
    return code, out.strip(), said


def test_a_log_is_checked_against_a_head_that_was_kept(capfd: pytest.CaptureFixture[str]) -> None:
    """Good is 0, broken 1, wrong words 2; the head is printed to be kept."""
    assert toolgauge(capfd, "verify")[0] == 0
    record("one", "two", "three")
    link_now()
    code, head, _ = toolgauge(capfd, "head")
    assert (code, head) == (0, str(chain.read_head()))
    assert head.startswith("3:")

    code, out, said = toolgauge(capfd, "verify", "--expect", head)
    assert (code, out) == (0, head)
    assert "whole: 3 entries" in said
    assert toolgauge(capfd, "verify", "--expect", "3:zz")[0] == 2

    for table in ("dashboard_auditentry", "dashboard_auditlink"):
        execute(f"ALTER TABLE {table} DISABLE TRIGGER audit_no_change")
    execute("UPDATE dashboard_auditentry SET body = replace(body, 'two', 'twp')")
    execute("DELETE FROM dashboard_auditlink WHERE seq = 3")
    code, out, said = toolgauge(capfd, "verify", "--json", "--expect", head)
    result: dict[str, Any] = json.loads(out)
    assert (code, result["good"], result["links"]) == (1, False, 2)
    assert [each["kind"] for each in result["breaks"]] == ["changed", "unlinked", "cut off"]
    assert result["breaks"][0]["seq"] == 2
    assert f"changed: link 2, entry {result['breaks'][0]['entry']}: " in said


def test_without_a_database_there_is_no_verdict() -> None:
    """3, and a word on where to run it."""
    env = {**os.environ, "DATABASE_URL": "postgresql://x@127.0.0.1:1/x", "SECRET_KEY": "x" * 50}
    command = [sys.executable, "-m", "cli.main", "audit", "verify", "--data-dir", "/nowhere"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    assert "DATABASE_URL" in done.stderr


def test_once_a_day_the_head_is_told_to_the_log() -> None:
    """Logs are kept elsewhere: a chain that is cut off later does not lead there any more."""
    record("one")
    link_now()
    with structlog.testing.capture_logs() as lines:
        upkeep()
        upkeep()
    heads = [line["head"] for line in lines if line["event"] == "audit head"]
    assert heads == [str(chain.read_head())]
