"""What `toolgauge probe` prints and writes, and what its exit code says."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.command_line import COMMAND, TIMEOUT, probing, toolgauge
from tests.simulators.plugin import ROOT

KEY = "sim-Zq8-secret-key-77"
PROMISED = {
    *("key", "fingerprint", "probe_version", "verified_at", "capabilities", "metrics"),
    *("results", "usage"),
}
CAPABILITIES = {
    *("schema_level", "tool_call_format", "parser", "supports_parallel_tool_use"),
    *("reasoning_replay", "supports_streaming_tool_use", "error_repair", "tool_choice"),
}


@pytest.fixture(scope="module")
def healthy(vendor_url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The profile of a vendor without faults."""
    path = tmp_path_factory.mktemp("profile") / "healthy.json"
    path.write_text(toolgauge(*probing(f"{vendor_url}/open/v1")).stdout)
    return path


def test_standard_output_is_the_promised_json_and_nothing_else(healthy: Path) -> None:
    """The fields that scripts rely on, in plain ASCII."""
    text = healthy.read_text()
    profile = json.loads(text)

    assert text.isascii()
    assert profile.keys() >= PROMISED
    assert profile["key"].keys() == {"provider", "model", "endpoint", "chat_template_hash"}
    assert profile["capabilities"].keys() >= CAPABILITIES
    assert profile["capabilities"]["tool_call_format"] == "openai"
    assert profile["metrics"]["parse_success"].keys() == {
        *("trials", "failures", "rate", "low", "high")
    }
    assert profile["results"][0].keys() >= {"probe", "outcome", "findings", "evidence"}
    assert profile["fingerprint"]["seed"] == "0"


def test_a_bar_that_is_met_is_good_and_one_that_is_not_is_told(vendor_url: str) -> None:
    """Exit 1 with the figure and the bar; a high leak rate is as bad as a low parse rate."""
    leaky = f"{vendor_url}/with/leak-and-call/open/v1"

    met = toolgauge(*probing(leaky, "--fail-under", "schema_failure=0"))
    missed = toolgauge(*probing(leaky, "--fail-under", "leak=0.1"))

    assert (met.returncode, met.stderr) == (0, "")
    assert missed.returncode == 1
    assert missed.stderr.startswith("toolgauge probe: leak is 1.000 (")
    assert missed.stderr.endswith("), the bar is 0.1.\n")


def test_a_bar_without_a_trial_is_no_verdict(vendor_url: str) -> None:
    """No data is not good."""
    words = ("--fail-under", "reasoning_replay_error=0.5")

    done = toolgauge(*probing(f"{vendor_url}/open/v1", *words))

    assert done.returncode == 3
    assert "no verdict on reasoning_replay_error: it had no trial." in done.stderr


def test_what_got_worse_since_an_earlier_profile_is_told(vendor_url: str, healthy: Path) -> None:
    """Exit 1 for a loss, 0 for the same again."""
    worse = toolgauge(*probing(f"{vendor_url}/with/one-call/open/v1", "--against", str(healthy)))
    same = toolgauge(*probing(f"{vendor_url}/open/v1", "--against", str(healthy)))

    assert worse.returncode == 1
    assert "supports_parallel_tool_use was True and is False." in worse.stderr
    assert (same.returncode, same.stderr) == (0, "")


def test_junit_has_a_case_for_every_attempt(vendor_url: str, tmp_path: Path) -> None:
    """Failures say why; standard output stays empty and a line tells the sum."""
    path = tmp_path / "report.xml"

    done = toolgauge(*probing(f"{vendor_url}/with/prose/open/v1", "--junit", str(path)))

    suite = ElementTree.parse(path).getroot()[0]  # noqa: S314 - written by ourselves
    assert done.returncode == 0
    assert (done.stdout, done.stderr) == ("", "sim-steady: 0 pass, 11 fail, 0 void.\n")
    assert (suite.get("tests"), suite.get("failures"), len(suite)) == ("11", "11", 11)
    failure = suite[0].find("failure")
    assert failure is not None
    assert failure.get("message")


def test_json_can_be_asked_for_beside_junit(vendor_url: str, tmp_path: Path) -> None:
    """One run, two readers."""
    path = tmp_path / "report.xml"

    done = toolgauge(*probing(f"{vendor_url}/open/v1", "--junit", str(path), "--json"))

    assert json.loads(done.stdout)["usage"]["attempts"] == 11
    assert path.exists()


def test_hostile_answers_are_inert_in_every_output(vendor_url: str, tmp_path: Path) -> None:
    """Script, escapes, NUL and lone surrogates: XML stays XML and tables stay tables."""
    path = tmp_path / "report.xml"

    done = toolgauge(
        *probing(f"{vendor_url}/hostile/hostile-markup/v1", "--junit", str(path), "--markdown")
    )

    ElementTree.parse(path)  # noqa: S314 - written by ourselves
    rows = [line for line in done.stdout.splitlines() if line.startswith("|")]
    assert done.returncode == 0
    assert {line.replace("\\|", "").count("|") for line in rows} == {4, 5}
    assert "\x1b" not in done.stdout
    # Inside of code nothing is a tag, a link or a mention.
    assert all("<script>" not in part for line in rows for part in line.split("`")[::2])


def test_the_key_is_in_nothing_that_is_written(vendor_url: str, tmp_path: Path) -> None:
    """Although the endpoint sends it back in every spelling."""
    report, run = tmp_path / "report.xml", tmp_path / "run.jsonl"
    words = ("--api-key-env", "K", "--junit", str(report), "--transcript", str(run), "--json")

    done = toolgauge(*probing(f"{vendor_url}/hostile/echo-auth/v1", *words), env={"K": KEY})

    written = done.stdout + done.stderr + report.read_text() + run.read_text()
    assert done.returncode == 0
    assert KEY not in written


def test_progress_is_drawn_on_a_terminal_only(vendor_url: str, tmp_path: Path) -> None:
    """On standard error; without a terminal it stays empty, whatever CI says about colours."""
    words = probing(f"{vendor_url}/open/v1")
    leader, follower = pty.openpty()
    shown = tmp_path / "profile.json"
    with (
        shown.open("w") as out,
        subprocess.Popen([*COMMAND, *words], cwd=ROOT, stdout=out, stderr=follower) as process,
    ):
        os.close(follower)
        drawn = _drained(leader)
        process.wait(TIMEOUT)
    plain = toolgauge(*words, env={"FORCE_COLOR": "1", "TTY_COMPATIBLE": "1"})

    assert "Probing" in drawn
    assert json.loads(shown.read_text())["usage"]["attempts"] == 11
    assert plain.stderr == ""


def _drained(leader: int) -> str:
    """Everything that is written to the terminal until its last writer is gone."""
    data = b""
    while True:
        try:
            more = os.read(leader, 65_536)
        except OSError:
            more = b""
        if not more:
            os.close(leader)
            return data.decode()
        data += more
