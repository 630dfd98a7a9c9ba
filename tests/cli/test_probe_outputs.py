"""Output, files and exit codes of `toolgauge probe`."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.command_line import COMMAND, TIMEOUT, probe_arguments, toolgauge
from tests.simulators.plugin import ROOT

KEY = "sim-Zq8-secret-key-77"
FIELDS = {
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
    path.write_text(toolgauge(*probe_arguments(f"{vendor_url}/open/v1")).stdout)
    return path


def test_standard_output_is_the_promised_json_and_nothing_else(healthy: Path) -> None:
    """The fields that scripts rely on, in plain ASCII."""
    text = healthy.read_text()
    profile = json.loads(text)

    assert text.isascii()
    assert profile.keys() >= FIELDS
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

    met = toolgauge(*probe_arguments(leaky, "--fail-under", "schema_failure=0"))
    missed = toolgauge(*probe_arguments(leaky, "--fail-under", "leak=0.1"))

    assert (met.returncode, met.stderr) == (0, "")
    assert missed.returncode == 1
    assert missed.stderr.startswith("toolgauge probe: leak is 1.000 (")
    assert missed.stderr.endswith("), the bar is 0.1.\n")


def test_a_bar_without_a_trial_is_no_verdict(vendor_url: str) -> None:
    """No data is not good."""
    arguments = ("--fail-under", "reasoning_replay_error=0.5")

    result = toolgauge(*probe_arguments(f"{vendor_url}/open/v1", *arguments))

    assert result.returncode == 3
    assert "no verdict on reasoning_replay_error: it had no trial." in result.stderr


def test_what_got_worse_since_an_earlier_profile_is_told(vendor_url: str, healthy: Path) -> None:
    """Exit 1 for a loss, 0 for the same again."""
    worse = toolgauge(
        *probe_arguments(f"{vendor_url}/with/one-call/open/v1", "--against", str(healthy))
    )
    same = toolgauge(*probe_arguments(f"{vendor_url}/open/v1", "--against", str(healthy)))

    assert worse.returncode == 1
    assert "supports_parallel_tool_use was True and is False." in worse.stderr
    assert (same.returncode, same.stderr) == (0, "")


def test_junit_has_a_case_for_every_attempt(vendor_url: str, tmp_path: Path) -> None:
    """Failures have their reason; standard output stays empty and one line has the totals."""
    path = tmp_path / "report.xml"

    result = toolgauge(*probe_arguments(f"{vendor_url}/with/prose/open/v1", "--junit", str(path)))

    suite = ElementTree.parse(path).getroot()[0]  # noqa: S314 - written by ourselves
    assert result.returncode == 0
    assert (result.stdout, result.stderr) == ("", "sim-steady: 0 pass, 11 fail, 0 void.\n")
    assert (suite.get("tests"), suite.get("failures"), len(suite)) == ("11", "11", 11)
    failure = suite[0].find("failure")
    assert failure is not None
    assert failure.get("message")


def test_json_can_be_asked_for_beside_junit(vendor_url: str, tmp_path: Path) -> None:
    """One run writes both formats."""
    path = tmp_path / "report.xml"

    result = toolgauge(*probe_arguments(f"{vendor_url}/open/v1", "--junit", str(path), "--json"))

    assert json.loads(result.stdout)["usage"]["attempts"] == 11
    assert path.exists()


def test_hostile_answers_are_inert_in_every_output(vendor_url: str, tmp_path: Path) -> None:
    """Script, escapes, NUL and lone surrogates: XML stays XML and tables stay tables."""
    path = tmp_path / "report.xml"

    result = toolgauge(
        *probe_arguments(
            f"{vendor_url}/hostile/hostile-markup/v1", "--junit", str(path), "--markdown"
        )
    )

    ElementTree.parse(path)  # noqa: S314 - written by ourselves
    rows = [line for line in result.stdout.splitlines() if line.startswith("|")]
    assert result.returncode == 0
    assert {line.replace("\\|", "").count("|") for line in rows} == {4, 5}
    assert "\x1b" not in result.stdout
    # Inside code, nothing is a tag, a link or a mention.
    assert all("<script>" not in part for line in rows for part in line.split("`")[::2])


def test_the_key_is_in_nothing_that_is_written(vendor_url: str, tmp_path: Path) -> None:
    """No output contains the key, although the endpoint echoes it in every spelling."""
    report, run = tmp_path / "report.xml", tmp_path / "run.jsonl"
    arguments = ("--api-key-env", "K", "--junit", str(report), "--transcript", str(run), "--json")

    result = toolgauge(
        *probe_arguments(f"{vendor_url}/hostile/echo-auth/v1", *arguments), env={"K": KEY}
    )

    outputs = result.stdout + result.stderr + report.read_text() + run.read_text()
    assert result.returncode == 0
    assert KEY not in outputs


def test_progress_is_drawn_on_a_terminal_only(vendor_url: str, tmp_path: Path) -> None:
    """On standard error; without a terminal it stays empty, also with FORCE_COLOR."""
    arguments = probe_arguments(f"{vendor_url}/open/v1")
    leader, follower = pty.openpty()
    profile = tmp_path / "profile.json"
    with (
        profile.open("w") as out,
        subprocess.Popen([*COMMAND, *arguments], cwd=ROOT, stdout=out, stderr=follower) as process,
    ):
        os.close(follower)
        output = _read_terminal(leader)
        process.wait(TIMEOUT)
    without_terminal = toolgauge(*arguments, env={"FORCE_COLOR": "1", "TTY_COMPATIBLE": "1"})

    assert "Probing" in output
    assert json.loads(profile.read_text())["usage"]["attempts"] == 11
    assert without_terminal.stderr == ""


def _read_terminal(leader: int) -> str:
    """Read the terminal until its last writer has closed it."""
    data = b""
    while True:
        try:
            chunk = os.read(leader, 65_536)
        except OSError:
            chunk = b""
        if not chunk:
            os.close(leader)
            return data.decode()
        data += chunk


@pytest.mark.parametrize(("dialect", "splits"), [((), True), (("--dialect", "plain"), None)])
def test_the_chosen_dialect_decides_what_is_sent(
    vendor_url: str, dialect: tuple[str, ...], splits: bool | None
) -> None:
    """MiniMax is asked for split reasoning by its own dialect, and not by the plain one."""
    target = ("--provider", "minimax", "--model", "sim-m2", "--api-key-env", "KEY")
    arguments = probe_arguments(f"{vendor_url}/minimax/v1", *target, *dialect)

    profile = json.loads(toolgauge(*arguments, env={"KEY": "sim-minimax"}).stdout)

    exchange = profile["results"][0]["evidence"]["exchanges"][0]
    assert json.loads(exchange["request"]["body"]).get("reasoning_split") is splits
    assert profile["fingerprint"].get("dialect") == (dialect[1] if dialect else None)


def test_the_template_that_an_engine_shows_wins_over_the_declared_one(vendor_url: str) -> None:
    """The contradiction is told, and the declared hash stays visible."""
    declared = "d" * 64
    url = f"{vendor_url}/llamacpp/v1"

    shown = json.loads(toolgauge(*probe_arguments(url)).stdout)["key"]["chat_template_hash"]
    result = toolgauge(*probe_arguments(url, "--chat-template-hash", declared))
    same = toolgauge(*probe_arguments(url, "--chat-template-hash", shown))

    profile = json.loads(result.stdout)
    assert profile["key"]["chat_template_hash"] == shown != declared
    assert profile["fingerprint"]["declared_chat_template_hash"] == declared
    assert f"reports the chat template {shown[:12]}…, not the declared one" in result.stderr
    assert "declared" not in same.stderr


def test_a_better_dialect_is_suggested_and_works(vendor_url: str) -> None:
    """Nothing is switched by itself: the suggestion is told, and choosing it ends the refusals."""
    url = f"{vendor_url}/with/endpoint-mismatch/open/v1"

    refused = toolgauge(*probe_arguments(url))
    suggestion = json.loads(refused.stdout)["dialect_suggestion"]
    chosen = toolgauge(*probe_arguments(url, "--dialect", suggestion["dialect"]))

    assert suggestion["dialect"] == "openai_reasoning"
    assert "try --dialect openai_reasoning." in refused.stderr
    profile = json.loads(chosen.stdout)
    assert profile["dialect_suggestion"] is None
    assert profile["capabilities"]["tool_call_format"] == "openai"
    assert {result["outcome"] for result in profile["results"]} == {"pass"}
