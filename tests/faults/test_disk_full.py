"""The disk of everything fills: database, broker and logs. Needs root, to mount a small disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher.services import ROOT
from tests import migrated
from tests.faults.invariants import violations
from tests.faults.recording_vendor import Vendor
from tests.faults.servers import running_servers
from tests.faults.stack import Stack, eventually, open_stack

SIZE = "320m"
SENTENCE = "The disk of the database is full"
# Not so short that a renewal is late on a busy machine.
LEASE = {"RUN_LEASE": "6s", "RUN_HEARTBEAT": "1s"}
_LOOK = """
import json
from django.test import Client
client = Client(headers={"host": "127.0.0.1"})
answer = client.get("/readyz")
problems = answer.json()["problems"]
print(json.dumps([answer.status_code, problems, client.get("/healthz").status_code]))
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, which a test can fill."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small disk can be mounted by root only")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def small_stack(
    django_db_setup: None, vendor: Vendor, disk: Path, tmp_path: Path
) -> Iterator[Stack]:
    with (
        running_servers(
            vendor, fill=migrated.copy_tables, durable_broker=True, under=disk
        ) as servers,
        open_stack(servers, vendor, tmp_path) as stack,
    ):
        stack.env |= LEASE
        yield stack
        print(stack.logs())


def fill(disk: Path) -> Path:
    filler = disk / "filler"
    with filler.open("wb") as file:
        try:
            while True:
                file.write(b"\0" * 65536)
                file.flush()
        except OSError:
            return filler


def run(stack: Stack, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=stack.env, capture_output=True, text=True, check=False
    )


def test_everything_waits_for_space_and_continues_by_itself(
    small_stack: Stack, disk: Path, tmp_path: Path
) -> None:
    """Nobody exits, everybody says why, and no run is lost or stored twice."""
    stack = small_stack
    stack.wake(3, milliseconds=20)
    worker, beat = stack.worker("worker"), stack.beat("beat")
    stack.folder = disk
    mute = stack.worker("mute")  # its log is on the disk that fills
    stack.folder = tmp_path
    eventually(lambda: stack.value("SELECT count(*) FROM dashboard_attempt") > 2)

    filler = fill(disk)
    eventually(lambda: worker.has_logged(SENTENCE))
    eventually(lambda: worker.has_logged("AOF") or beat.has_logged("AOF"))
    late = stack.worker("late")
    eventually(lambda: late.has_logged(SENTENCE))

    look = run(stack, "manage.py", "shell", "--verbosity", "0", "-c", _LOOK)
    status, problems, healthz = json.loads(look.stdout or look.stderr)
    assert (status, healthz) == (503, 200)
    assert any("full" in problem for problem in problems)
    doctor = run(stack, "-m", "cli.main", "doctor", "--json")
    verdicts = {check["name"]: check["verdict"] for check in json.loads(doctor.stdout)["checks"]}
    assert doctor.returncode == 1
    assert (verdicts["room"], verdicts["writes"]) == ("bad", "bad")
    assert all(group.is_up() for group in (worker, mute, beat, late))

    filler.unlink()
    eventually(lambda: stack.all_finished(3))
    stack.wake(3, milliseconds=5)
    eventually(lambda: stack.all_finished(6))
    assert all(group.is_up() for group in (worker, mute, beat, late))
    assert violations(stack.url) == []
