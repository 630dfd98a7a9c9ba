"""Endpoints without a verdict: the reason, exit 3, within the deadline, and no partial file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from probes.messages import JSON
from tests.cli.command_line import COMMAND, TIMEOUT, MiniVendor, probe_arguments, toolgauge
from tests.simulators.plugin import ROOT

TROUBLE = {
    "down": ("/with/down/open/v1", "(503)"),
    "unauthorized": ("/hostile/unauthorized/v1", "rejected the API key (401)"),
    "forbidden": ("/hostile/forbidden/v1", "(403)"),
    "not found": ("/hostile/not-found/v1", "404"),
    "html": ("/hostile/html/v1", "a web page (HTML) instead of JSON"),
    "redirect": ("/hostile/redirect/v1", "307"),
    "cut": ("/hostile/cut/v1", "closed before the answer was complete"),
    "gzip bomb": ("/hostile/gzip-bomb/v1", "compressed although we asked for plain text"),
    "garbage": ("/hostile/garbage/v1", ""),
    "empty": ("/hostile/empty/v1", ""),
    "oversize": ("/hostile/huge/v1", "exceeds the limit"),
    "rate limited": ("/with/rate-limit,value=3600/open/v1", "429"),
}
SLOW = {
    "rate limited": ("/with/rate-limit,value=5/open/v1", "slow down (429)"),
    "hang": ("/hostile/hang/v1", "not complete within 1 s"),
    "drip": ("/hostile/drip/v1", "not complete within 1 s"),
    "endless stream": ("/with/endless/open/v1", ""),
    "endless": ("/hostile/endless/v1", ""),
}


def check_no_verdict(completed: subprocess.CompletedProcess[str], reason: str) -> None:
    results = json.loads(completed.stdout)["results"]
    assert completed.returncode == 3
    assert {result["outcome"] for result in results} == {"void"}
    assert completed.stderr.startswith("toolgauge probe: no verdict. ")
    assert reason in completed.stderr
    assert completed.stderr.count("\n") == 1
    assert all(result["findings"] for result in results)


@pytest.mark.parametrize("name", TROUBLE)
def test_trouble_on_the_way_is_no_verdict(name: str, vendor_url: str) -> None:
    """Exit 3 and one sentence with the reason; every attempt is void with its reason."""
    path, reason = TROUBLE[name]

    check_no_verdict(toolgauge(*probe_arguments(vendor_url + path)), reason)


def test_an_endpoint_that_nobody_serves_is_no_verdict() -> None:
    """No server listens at the URL."""
    completed = toolgauge(*probe_arguments("http://127.0.0.1:9/v1"))

    check_no_verdict(completed, "The connection to '127.0.0.1:9' was refused.")


@pytest.mark.parametrize("name", SLOW)
def test_the_deadline_ends_whatever_does_not(name: str, vendor_url: str) -> None:
    """Also while the requests for facts of the engine are running."""
    path, reason = SLOW[name]

    check_no_verdict(toolgauge(*probe_arguments(vendor_url + path, "--deadline", "1")), reason)


def test_an_endpoint_killed_in_the_middle_leaves_its_attempts_void() -> None:
    """Answered attempts count; the others report that the endpoint no longer answered."""
    dead = threading.Event()

    def die(number: int) -> None:
        if number > 6 or dead.is_set():
            dead.set()
            # The connection is closed without an answer.
            raise ConnectionAbortedError

    vendor = MiniVendor(die)
    with vendor.serving():
        completed = toolgauge(*probe_arguments(vendor.url, "--concurrency", "1"))

    outcomes = [result["outcome"] for result in json.loads(completed.stdout)["results"]]
    reasons = {
        finding["message"]
        for result in json.loads(completed.stdout)["results"]
        if result["outcome"] == "void"
        for finding in result["findings"]
    }
    assert "void" in outcomes
    assert reasons == {"The endpoint closed the connection without an answer."}
    assert "Traceback" not in completed.stderr


@pytest.mark.parametrize("more", [(), ("--fail-under", "parse_success=0.5")])
def test_a_run_that_is_half_void_is_no_verdict(more: tuple[str, ...], vendor_url: str) -> None:
    """Whatever the other half says: too little was seen to meet or miss a bar."""
    url = f"{vendor_url}/with/html,p=0.6,seed=3/open/v1"

    completed = toolgauge(*probe_arguments(url, *more))

    outcomes = [result["outcome"] for result in json.loads(completed.stdout)["results"]]
    assert len(outcomes) / 2 <= outcomes.count("void") < len(outcomes)
    assert completed.returncode == 3
    start = f"no verdict. {outcomes.count('void')} of {len(outcomes)} attempts are void: "
    assert completed.stderr.startswith(f"toolgauge probe: {start}The endpoint answered with a web")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_and_writes_nothing(tmp_path: Path, number: signal.Signals) -> None:
    """The message says what was done; no traceback, and files are as before."""
    existing, new = tmp_path / "old.xml", tmp_path / "new.jsonl"
    existing.write_text("before")
    hold = threading.Event()

    def wait(number: int) -> None:
        hold.wait(TIMEOUT)

    vendor = MiniVendor(wait)
    with vendor.serving():
        arguments = probe_arguments(vendor.url, "--junit", str(existing), "--transcript", str(new))
        with subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert vendor.arrived.wait(TIMEOUT)
            process.send_signal(number)
            out, err = process.communicate(timeout=TIMEOUT)
        hold.set()

    assert process.returncode == 128 + number
    done = f"stopped by {number.name} after 0 of 11 attempts; no file was written."
    assert (out, err) == ("", f"toolgauge probe: {done}\n")
    assert existing.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["old.xml"]


def test_a_stopped_run_prints_what_it_has_as_json() -> None:
    """With --json the attempts that were made are not lost."""
    hold, asked_again = threading.Event(), threading.Event()

    def wait(number: int) -> None:
        if number > 8:
            asked_again.set()
            hold.wait(TIMEOUT)

    vendor = MiniVendor(wait)
    with vendor.serving():
        arguments = probe_arguments(vendor.url, "--json", "--concurrency", "1")
        with subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert asked_again.wait(TIMEOUT)
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=TIMEOUT)
        hold.set()

    partial = json.loads(out)
    assert (process.returncode, partial["stopped"]) == (143, "SIGTERM")
    assert 0 < len(partial["results"]) < 11
    assert f"after {len(partial['results'])} of 11 attempts" in err


def test_a_reader_that_leaves_is_no_error(vendor_url: str) -> None:
    """As in `toolgauge probe … | head -1`."""
    arguments = [*COMMAND, *probe_arguments(f"{vendor_url}/open/v1")]
    with subprocess.Popen(
        arguments, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        errors = process.stderr.read()
        process.wait(TIMEOUT)

    assert (process.returncode, errors) == (0, "")


def test_an_endpoint_without_tools_fails_rather_than_being_void(vendor_url: str) -> None:
    """A refusal of tools is a fact about the endpoint: exit 0, all attempts failed."""
    completed = toolgauge(*probe_arguments(f"{vendor_url}/hostile/no-tools/v1"))

    profile = json.loads(completed.stdout)
    assert completed.returncode == 0
    assert {result["outcome"] for result in profile["results"]} == {"fail"}
    assert profile["capabilities"]["tool_call_format"] == "none"


def test_what_an_endpoint_says_cannot_act_on_the_terminal() -> None:
    """Escapes and direction marks in its error message are replaced."""
    body: Mapping[str, JSON] = {"error": {"message": "bad key \x1b[2J\x9b31m\u202e\r gone"}}
    with MiniVendor(status=401, body=body).serving() as vendor:
        completed = toolgauge(*probe_arguments(vendor.url, "--markdown"))

    assert completed.returncode == 3
    assert "bad key" in completed.stderr
    for acting in ("\x1b", "\x9b", "\u202e", "\r"):
        assert acting not in completed.stdout + completed.stderr


def test_a_terminal_of_another_encoding_is_no_error() -> None:
    """Characters that the encoding lacks are written as escapes."""
    env = {"PYTHONIOENCODING": "ascii"}
    with MiniVendor().serving() as vendor:
        completed = toolgauge(
            *probe_arguments(vendor.url, "--model", "modèle", "--markdown"), env=env
        )

    assert completed.returncode == 0
    assert completed.stdout.startswith("### `mod\\xe8le` at ")


def test_the_draft_of_a_file_does_not_survive(tmp_path: Path, vendor_url: str) -> None:
    """Only the requested files remain, with the usual permissions."""
    report = tmp_path / "report.xml"

    toolgauge(*probe_arguments(f"{vendor_url}/open/v1", "--junit", str(report)))

    mask = os.umask(0)
    os.umask(mask)
    assert [path.name for path in tmp_path.iterdir()] == ["report.xml"]
    assert report.stat().st_mode & 0o777 == 0o666 & ~mask
