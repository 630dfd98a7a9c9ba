"""Recorded runs, replayed offline: every difference names its attempt."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from cli.replay import SHIPPED
from probes.adapters.openai_chat.adapter import OpenAIChatAdapter
from probes.messages import JSON, ModelCall, Reply
from probes.outcomes import Outcome
from probes.suite import PROBES
from probes.suite.base import DrawnValues, Judgement, Script
from probes.suite.format_probe import FormatProbe
from probes.suite.question_builder import QuestionBuilder
from probes.transcripts import ReplayedAttempt, replay_transcript
from tests.cli.command_line import probe_arguments, toolgauge
from tests.simulators.plugin import ROOT
from transcripts.record import RECORDINGS

OFFLINE = """
import sys
def watch(event, arguments):
    if event in ("socket.__new__", "socket.connect", "socket.getaddrinfo"):
        raise AssertionError("a socket was opened")
sys.addaudithook(watch)
from cli.main import main
sys.exit(main(sys.argv[1:]))
"""
Lines = list[dict[str, Any]]


def read_recording(name: str = "openai") -> Lines:
    text = (SHIPPED / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def find_differences(lines: Lines, **replaced: Any) -> dict[str, str]:
    """The attempts with a different result, and the difference."""
    attempts = replay_transcript([json.dumps(line) for line in lines], **replaced)
    return {attempt.attempt: attempt.difference for attempt in attempts if attempt.difference}


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_the_shipped_transcripts_come_out_as_they_were_recorded(recording: Any) -> None:
    """The regression gate: every path through the library, request by request.

    After an intended change: `python -m transcripts.record`.
    """
    text = (SHIPPED / f"{recording.name}.jsonl").read_text(encoding="utf-8")

    attempts = list(replay_transcript(text.splitlines()))

    assert attempts == [ReplayedAttempt(attempt.attempt) for attempt in attempts]
    assert {attempt.attempt.partition("/")[0] for attempt in attempts} >= {"format", "streaming"}


def test_the_shipped_transcripts_stay_small_and_hold_no_key() -> None:
    """They are part of every clone."""
    files = sorted(SHIPPED.glob("*.jsonl"))

    assert [path.stem for path in files] == sorted(attempt.name for attempt in RECORDINGS)
    assert sum(path.stat().st_size for path in files) < 1_500_000
    assert not any("sim-recording" in path.read_text(encoding="utf-8") for path in files)


def test_replay_opens_no_socket() -> None:
    """The shipped transcripts replay without any network."""
    result = subprocess.run(
        [sys.executable, "-c", OFFLINE, "replay"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.returncode == 0, result.stderr
    assert result.stdout == ""
    assert result.stderr.endswith(" attempts played, 0 came out differently.\n")


def test_a_run_can_be_recorded_and_played(vendor_url: str, tmp_path: Path) -> None:
    """Also a run that failed."""
    path = tmp_path / "run.jsonl"
    toolgauge(*probe_arguments(f"{vendor_url}/with/wrong-enum/open/v1", "--transcript", str(path)))

    result = toolgauge("replay", str(path))

    assert (result.returncode, result.stdout) == (0, "")
    assert result.stderr == "11 attempts played, 0 came out differently.\n"


def test_attempts_without_a_whole_answer_are_counted_apart(vendor_url: str, tmp_path: Path) -> None:
    """An attempt whose connection broke cannot be replayed."""
    path = tmp_path / "run.jsonl"
    toolgauge(*probe_arguments(f"{vendor_url}/hostile/cut/v1", "--transcript", str(path)))

    result = toolgauge("replay", str(path))

    assert result.returncode == 0
    assert result.stderr == (
        "0 attempts played, 0 came out differently. 11 have no whole answer to play.\n"
    )


def test_a_changed_byte_of_an_answer_is_reported() -> None:
    """Any byte counts, even if no verdict changes."""
    lines = read_recording()
    reply = lines[1]["exchanges"][0]["reply"]
    place = random.Random(1).randrange(len(reply["chunks"][0]))
    old = reply["chunks"][0]
    reply["chunks"][0] = old[:place] + ("x" if old[place] != "x" else "y") + old[place + 1 :]

    label = lines[1]["exchanges"][0]["label"]
    name = f"{lines[1]['probe']}/{lines[1]['trial']}"
    assert find_differences(lines) == {
        name: f"The bytes of the answer {label!r} are not those recorded."
    }


@dataclass(frozen=True, slots=True)
class Content(FormatProbe):
    """A judge that accepts everything."""

    @override
    def script(self, drawn: DrawnValues, setting: QuestionBuilder) -> Script:
        judged = yield from FormatProbe.script(self, drawn, setting)
        return Judgement(Outcome.PASS, verdicts=judged.verdicts, facts=judged.facts)


def test_a_changed_judge_is_reported() -> None:
    """The verdict differs, and only the attempts of that probe are reported."""
    differences = find_differences(
        read_recording("qwen-xml"), probes={**PROBES, "format": Content()}
    )

    assert differences == {
        f"format/{trial}": 'outcome was "fail" and is "pass".' for trial in (1, 2, 3)
    }


def test_a_changed_question_is_reported() -> None:
    """Another prompt needs another recording."""

    @dataclass(frozen=True, slots=True)
    class Redrawn(FormatProbe):
        @override
        def draw(self, rng: random.Random) -> DrawnValues:
            return DrawnValues({"message": "another", "tag": "beta"})

    differences = find_differences(read_recording(), probes={**PROBES, "format": Redrawn()})

    assert differences.keys() == {"format/1", "format/2", "format/3"}
    assert all(
        text.startswith("In the request 'asked' messages was ") for text in differences.values()
    )


class Writing(OpenAIChatAdapter):
    """Sends one additional field."""

    @override
    def write_request(self, call: ModelCall) -> dict[str, JSON]:
        return {**super().write_request(call), "extra": 1}


class Reading(OpenAIChatAdapter):
    """Reads no stop reason; only for whole answers, streams are read elsewhere."""

    @override
    def read_reply(self, body: JSON, seed: str = "") -> Reply:
        assert isinstance(body, dict)
        return super().read_reply({**body, "model": "another"})


@pytest.mark.parametrize(
    ("adapter", "sentence"),
    [
        (Writing(), "extra was null and is 1."),
        (Reading(), 'model was "sim-steady" and is "another".'),
    ],
)
def test_a_changed_adapter_is_reported(adapter: OpenAIChatAdapter, sentence: str) -> None:
    """All attempts that use the adapter are reported, whether it writes or reads differently."""
    lines = read_recording()

    differences = find_differences(lines, adapters=lambda provider: adapter)

    reads_whole_only = isinstance(adapter, Reading)
    assert differences.keys() == {
        f"{line['probe']}/{line['trial']}"
        for line in lines[1:]
        if not reads_whole_only
        or any(not exchange["request"].get("stream") for exchange in line["exchanges"])
    }
    assert all(text.endswith(sentence) for text in differences.values())


def _without_attempts(lines: Lines) -> None:
    del lines[3:]


def _of_another_suite(lines: Lines) -> None:
    lines[0]["suite"] = "tool-probe-v0"


def _of_nobody(lines: Lines) -> None:
    lines[0]["key"]["provider"] = "acme"


def _of_no_probe(lines: Lines) -> None:
    lines[2]["probe"] = "telepathy"


def _without_head(lines: Lines) -> None:
    del lines[0]


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (_without_attempts, "It holds 2 of 11 attempts."),
        (_of_another_suite, "recorded with the suite tool-probe-v0, not tool-probe-v2. Record it"),
        (_of_nobody, "There is no provider 'acme'."),
        (_of_no_probe, "Line 3 is no attempt of the suite tool-probe-v2."),
        (_without_head, "Line 1 is not the head of a transcript."),
    ],
)
def test_a_transcript_that_cannot_be_played_is_wrong_usage(
    spoil: Callable[[Lines], None], sentence: str, tmp_path: Path
) -> None:
    """Exit 2 with the file and what is wrong with it."""
    lines, path = read_recording(), tmp_path / "spoilt.jsonl"
    spoil(lines)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    result = toolgauge("replay", str(path))

    assert result.returncode == 2
    assert result.stderr.startswith(f"toolgauge replay: {path}: ")
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "wrong",
    [
        {"exchanges": 5},
        {"exchanges": [7]},
        {"exchanges": [{"reply": {"status": 200, "headers": {}, "chunks": [1]}}]},
        {"exchanges": [{"reply": {"status": 200, "headers": {}, "chunks": [{"base64": "%"}]}}]},
        {"exchanges": [{"reply": 3}]},
    ],
)
def test_rubbish_inside_of_an_attempt_is_a_difference(wrong: dict[str, JSON]) -> None:
    """Invalid data never causes a traceback."""
    lines = read_recording()
    lines[1] |= wrong

    assert list(find_differences(lines)) == [f"{lines[1]['probe']}/{lines[1]['trial']}"]


def test_a_folder_without_transcripts_is_wrong_usage(tmp_path: Path) -> None:
    """Without transcripts the gate would pass without a check."""
    result = toolgauge("replay", str(tmp_path))

    assert result.returncode == 2
    assert f"There is no transcript (*.jsonl) in {tmp_path}." in result.stderr


def test_files_that_are_missing_or_no_text_are_wrong_usage(tmp_path: Path) -> None:
    """The message names the file."""
    noise = tmp_path / "noise.jsonl"
    noise.write_bytes(b"\xff\xfe\x00")

    missing, unread = toolgauge("replay", "missing.jsonl"), toolgauge("replay", str(noise))

    assert (missing.returncode, unread.returncode) == (2, 2)
    assert "missing.jsonl cannot be read: No such file or directory." in missing.stderr
    assert f"{noise} is not text in UTF-8." in unread.stderr
