"""Output and exit codes of `toolgauge audit`."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
import structlog

from cli.main import main
from dashboard.audit import chain
from dashboard.core.sql import execute
from tests.dashboard.audit.builders import link_now, record_entries
from tests.preloaded import run_module
from workers.upkeep import do_upkeep

pytestmark = pytest.mark.django_db


def toolgauge(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["audit", *arguments, "--data-dir", "/nowhere"])
    out, messages = capfd.readouterr()
    return code, out.strip(), messages


def test_a_log_is_checked_against_a_head_that_was_kept(capfd: pytest.CaptureFixture[str]) -> None:
    """0 for an intact log, 1 for a broken one, 2 for wrong usage; the head is printed."""
    assert toolgauge(capfd, "verify")[0] == 0
    record_entries("one", "two", "three")
    link_now()
    code, head, _ = toolgauge(capfd, "head")
    assert (code, head) == (0, str(chain.read_head()))
    assert head.startswith("3:")

    code, out, messages = toolgauge(capfd, "verify", "--expect", head)
    assert (code, out) == (0, head)
    assert "whole: 3 entries" in messages
    assert toolgauge(capfd, "verify", "--expect", "3:zz")[0] == 2

    for table in ("dashboard_auditentry", "dashboard_auditlink"):
        execute(f"ALTER TABLE {table} DISABLE TRIGGER audit_no_change")
    execute("UPDATE dashboard_auditentry SET body = replace(body, 'two', 'twp')")
    execute("DELETE FROM dashboard_auditlink WHERE seq = 3")
    code, out, messages = toolgauge(capfd, "verify", "--json", "--expect", head)
    result: dict[str, Any] = json.loads(out)
    assert (code, result["good"], result["links"]) == (1, False, 2)
    assert [chain_break["kind"] for chain_break in result["breaks"]] == [
        "changed",
        "unlinked",
        "cut off",
    ]
    assert result["breaks"][0]["seq"] == 2
    assert f"changed: link 2, entry {result['breaks'][0]['entry']}: " in messages


def test_without_a_database_there_is_no_verdict() -> None:
    """Exit 3, and a message that says where to run it."""
    env = {**os.environ, "DATABASE_URL": "postgresql://x@127.0.0.1:1/x", "SECRET_KEY": "x" * 50}
    result = run_module("cli.main", "audit", "verify", "--data-dir", "/nowhere", env=env)
    assert result.returncode == 3, result.stderr
    assert "DATABASE_URL" in result.stderr


def test_once_a_day_the_head_is_told_to_the_log() -> None:
    """The head is in the process log, which is stored elsewhere and reveals a cut-off chain."""
    record_entries("one")
    link_now()
    with structlog.testing.capture_logs() as lines:
        do_upkeep()
        do_upkeep()
    heads = [line["head"] for line in lines if line["event"] == "audit head"]
    assert heads == [str(chain.read_head())]
