from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from launcher.services import ROOT
from launcher.testing import WITHOUT_SERVERS, make_plan
from tests.launcher.processes import processes_of, wait_until

# Writes its environment to a file, then waits for a signal, as a long test run would.
PLUGIN = """
import json, os, pathlib, time
def pytest_configure(config):
    pathlib.Path(os.environ["SEEN"]).write_text(json.dumps(dict(os.environ)))
    time.sleep(float(os.environ["LINGER"]))
"""

# A short step in the background of a longer one.
TWO_STEPS = """
import os
from launcher.steps import Steps
steps = Steps()
steps.run_in_background("short", ["true"], os.environ)
steps.run("long", ["sleep", "1.5"], os.environ)
steps.wait_for_background()
raise SystemExit(steps.summarise())
"""


def start(folder: Path, *arguments: str, linger: float = 0.0) -> subprocess.Popen[bytes]:
    """`./run test` with its servers and folders inside the given folder."""
    (folder / "lingering.py").write_text(PLUGIN)
    env = {"SEEN": str(folder / "seen"), "LINGER": str(linger), "PYTHONPATH": str(folder)}
    (folder / "tmp").mkdir()
    return subprocess.Popen(
        [sys.executable, "-m", "launcher.testing", "test", "-p", "lingering", *arguments],
        cwd=ROOT,
        env=os.environ | env | {"TMPDIR": str(folder / "tmp"), "DEBUG": "true"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@pytest.mark.parametrize(
    ("arguments", "checks", "servers", "steps"),
    [
        ([], True, True, ["tests alone", "tests"]),
        (["test"], True, True, ["tests alone", "tests"]),
        (["test", "--all"], True, True, ["tests alone", "tests"]),
        (["test", "--fast"], True, False, ["tests alone"]),
        (["check"], True, True, []),
        (["test", "tests/probes"], False, False, ["tests"]),
        (["test", "tests/probes/test_redaction.py::test_x", "-k", "key"], False, False, ["tests"]),
        (["test", "tests/probes", "tests/launcher"], False, True, ["tests"]),
        (["test", "tests"], False, True, ["tests"]),
        (["test", "-k", "probes"], False, True, ["tests"]),
    ],
    ids=str,
)
def test_servers_start_only_for_tests_that_need_them(
    arguments: list[str], checks: bool, servers: bool, steps: list[str]
) -> None:
    """The paths decide; without paths all tests run, and they need servers."""
    plan = make_plan(arguments)

    tests = {**plan.tests_alone, **plan.tests}
    assert (plan.checks, plan.servers, list(tests)) == (checks, servers, steps)
    assert plan.everything == ("--all" in arguments)
    assert not {"--all", "--fast"} & {argument for step in tests.values() for argument in step}


def test_folders_without_servers_exist() -> None:
    """A folder that was renamed would run twice, or not at all."""
    assert [name for name in WITHOUT_SERVERS if not (ROOT / "tests" / name).is_dir()] == []


def test_every_folder_belongs_to_one_of_the_two_sessions() -> None:
    """`./run test` runs each test once, at the same time in one session or the other."""
    plan = make_plan(["test"])

    (alone,), (others,) = plan.tests_alone.values(), plan.tests.values()
    folders = {argument for argument in alone if argument.startswith("tests/")}
    assert folders == {argument.removeprefix("--ignore=") for argument in others if "=" in argument}
    assert not [argument for argument in others if argument.startswith("tests/")]


def test_tests_without_servers_get_none(tmp_path: Path) -> None:
    """The environment has neither URLs of servers nor a folder for their data."""
    process = start(tmp_path, "--collect-only", "-q", "tests/probes/test_redaction.py")

    assert process.wait(timeout=90) == 0
    environment = json.loads((tmp_path / "seen").read_text())
    assert not {"DATABASE_URL", "REDIS_URL"} & environment.keys()
    assert list((tmp_path / "tmp").iterdir()) == []


def test_tests_get_servers_of_their_own(tmp_path: Path) -> None:
    """The tests see fresh servers and keys, no debug switch, and never the data of `./run`."""
    process = start(tmp_path, "--collect-only", "-q", "tests/deploy/test_image.py")

    assert process.wait(timeout=90) == 0
    environment = json.loads((tmp_path / "seen").read_text())
    assert environment["DATABASE_URL"] != os.environ["DATABASE_URL"]
    assert environment["REDIS_URL"] != os.environ["REDIS_URL"]
    assert environment["DATA_DIR"].startswith(str(tmp_path))
    assert "DEBUG" not in environment


def test_servers_are_gone_after_the_tests(tmp_path: Path) -> None:
    """No processes and folders are left, and the exit code of the tests is passed on."""
    process = start(tmp_path, "tests/deploy/no_such_test.py")

    assert process.wait(timeout=90) == 4
    assert processes_of(tmp_path) == []
    assert list((tmp_path / "tmp").iterdir()) == []


def test_servers_are_gone_after_an_interruption(tmp_path: Path) -> None:
    """SIGTERM in the middle of the tests ends them and their servers."""
    process = start(tmp_path, "--collect-only", linger=600)
    assert wait_until((tmp_path / "seen").exists, 90)

    process.send_signal(signal.SIGTERM)

    assert process.wait(timeout=90) == 130
    assert processes_of(tmp_path) == []
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_step_in_the_background_is_said_to_take_its_own_time() -> None:
    """Not the time until somebody waits for it."""
    completed = subprocess.run(
        [sys.executable, "-c", TWO_STEPS], cwd=ROOT, check=True, capture_output=True, text=True
    )

    seconds = dict(re.findall(r"^(\w+) +passed +([\d.]+) s$", completed.stderr, re.MULTILINE))
    assert float(seconds["short"]) < 1.5 <= float(seconds["long"])
