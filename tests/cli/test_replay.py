"""Recorded runs, played again offline: what is different now has the attempt's name."""

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
from tests.cli.command_line import probing, toolgauge
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


def recorded(name: str = "openai") -> Lines:
    text = (SHIPPED / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def different(lines: Lines, **changed: Any) -> dict[str, str]:
    """The attempts that come out differently, with what is different."""
    played = replay_transcript([json.dumps(line) for line in lines], **changed)
    return {one.attempt: one.difference for one in played if one.difference}


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_the_shipped_transcripts_come_out_as_they_were_recorded(recording: Any) -> None:
    """The regression gate: every path through the library, request by request.

    After a wanted change: `python -m transcripts.record`.
    """
    text = (SHIPPED / f"{recording.name}.jsonl").read_text(encoding="utf-8")

    played = list(replay_transcript(text.splitlines()))

    assert played == [ReplayedAttempt(one.attempt) for one in played]
    assert {one.attempt.partition("/")[0] for one in played} >= {"format", "streaming"}


def test_the_shipped_transcripts_stay_small_and_hold_no_key() -> None:
    """They are part of every clone."""
    files = sorted(SHIPPED.glob("*.jsonl"))

    assert [path.stem for path in files] == sorted(one.name for one in RECORDINGS)
    assert sum(path.stat().st_size for path in files) < 1_500_000
    assert not any("sim-recording" in path.read_text(encoding="utf-8") for path in files)


def test_replay_opens_no_socket() -> None:
    """The shipped set, with no network to be had at all."""
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, "replay"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr.endswith(" attempts played, 0 came out differently.\n")


def test_a_run_can_be_recorded_and_played(vendor_url: str, tmp_path: Path) -> None:
    """Also one that went badly."""
    path = tmp_path / "run.jsonl"
    toolgauge(*probing(f"{vendor_url}/with/wrong-enum/open/v1", "--transcript", str(path)))

    done = toolgauge("replay", str(path))

    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "11 attempts played, 0 came out differently.\n"


def test_attempts_without_a_whole_answer_are_counted_apart(vendor_url: str, tmp_path: Path) -> None:
    """A connection that broke off is nothing that could be played."""
    path = tmp_path / "run.jsonl"
    toolgauge(*probing(f"{vendor_url}/hostile/cut/v1", "--transcript", str(path)))

    done = toolgauge("replay", str(path))

    assert done.returncode == 0
    assert done.stderr == (
        "0 attempts played, 0 came out differently. 11 have no whole answer to play.\n"
    )


def test_a_changed_byte_of_an_answer_is_reported() -> None:
    """Any byte, also one that changes no verdict."""
    lines = recorded()
    reply = lines[1]["exchanges"][0]["reply"]
    place = random.Random(1).randrange(len(reply["chunks"][0]))
    old = reply["chunks"][0]
    reply["chunks"][0] = old[:place] + ("x" if old[place] != "x" else "y") + old[place + 1 :]

    label = lines[1]["exchanges"][0]["label"]
    name = f"{lines[1]['probe']}/{lines[1]['trial']}"
    assert different(lines) == {name: f"The bytes of the answer {label!r} are not those recorded."}


@dataclass(frozen=True, slots=True)
class Content(FormatProbe):
    """A judge that is content with everything."""

    @override
    def script(self, drawn: DrawnValues, setting: QuestionBuilder) -> Script:
        judged = yield from FormatProbe.script(self, drawn, setting)
        return Judgement(Outcome.PASS, verdicts=judged.verdicts, facts=judged.facts)


def test_a_changed_judge_is_reported() -> None:
    """The verdict is another one, and only the attempts of that probe are named."""
    found = different(recorded("qwen-xml"), probes={**PROBES, "format": Content()})

    assert found == {f"format/{trial}": 'outcome was "fail" and is "pass".' for trial in (1, 2, 3)}


def test_a_changed_question_is_reported() -> None:
    """Another prompt needs another recording."""

    @dataclass(frozen=True, slots=True)
    class Redrawn(FormatProbe):
        @override
        def draw(self, rng: random.Random) -> DrawnValues:
            return DrawnValues({"message": "another", "tag": "beta"})

    found = different(recorded(), probes={**PROBES, "format": Redrawn()})

    assert found.keys() == {"format/1", "format/2", "format/3"}
    assert all(text.startswith("In the request 'asked' messages was ") for text in found.values())


class Writing(OpenAIChatAdapter):
    """Sends a field more."""

    @override
    def write_request(self, call: ModelCall) -> dict[str, JSON]:
        return {**super().write_request(call), "extra": 1}


class Reading(OpenAIChatAdapter):
    """Reads no stop reason any more; whole answers only, streams are read elsewhere."""

    @override
    def read_reply(self, body: JSON) -> Reply:
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
    """Whether it writes or reads differently, all attempts that go through it are named."""
    lines = recorded()

    found = different(lines, adapters=lambda provider: adapter)

    assert found.keys() == {f"{line['probe']}/{line['trial']}" for line in lines[1:]}
    assert all(text.endswith(sentence) for text in found.values())


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
        (_of_another_suite, "recorded with the suite tool-probe-v0, not tool-probe-v1. Record it"),
        (_of_nobody, "There is no provider 'acme'."),
        (_of_no_probe, "Line 3 is no attempt of the suite tool-probe-v1."),
        (_without_head, "Line 1 is not the head of a transcript."),
    ],
)
def test_a_transcript_that_cannot_be_played_is_wrong_usage(
    spoil: Callable[[Lines], None], sentence: str, tmp_path: Path
) -> None:
    """Exit 2 with the file and what is wrong with it."""
    lines, path = recorded(), tmp_path / "spoilt.jsonl"
    spoil(lines)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    done = toolgauge("replay", str(path))

    assert done.returncode == 2
    assert done.stderr.startswith(f"toolgauge replay: {path}: ")
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


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
    """It never ends in a traceback."""
    lines = recorded()
    lines[1] |= wrong

    assert list(different(lines)) == [f"{lines[1]['probe']}/{lines[1]['trial']}"]


def test_a_folder_without_transcripts_is_wrong_usage(tmp_path: Path) -> None:
    """A gate that nobody passes through is open."""
    done = toolgauge("replay", str(tmp_path))

    assert done.returncode == 2
    assert f"There is no transcript (*.jsonl) in {tmp_path}." in done.stderr


def test_files_that_are_missing_or_no_text_are_wrong_usage(tmp_path: Path) -> None:
    """With the name of the file."""
    noise = tmp_path / "noise.jsonl"
    noise.write_bytes(b"\xff\xfe\x00")

    missing, unread = toolgauge("replay", "missing.jsonl"), toolgauge("replay", str(noise))

    assert (missing.returncode, unread.returncode) == (2, 2)
    assert "missing.jsonl cannot be read: No such file or directory." in missing.stderr
    assert f"{noise} is not text in UTF-8." in unread.stderr
