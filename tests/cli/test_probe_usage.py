from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from cli.main import main
from probes.target import Provider
from tests.cli.command_line import MiniVendor, probe_arguments, toolgauge

VALID = ("probe", "--provider", "openai", "--base-url", "http://127.0.0.1:9/v1", "--model", "m")
INVALID = {
    "no provider": (("probe", "--base-url", "http://h/v1", "--model", "m"), "--provider"),
    "other provider": ((*VALID, "--provider", "acme"), "invalid choice: 'acme'"),
    "no scheme": ((*VALID, "--base-url", "h/v1"), "must begin with http:// or https://"),
    "password": ((*VALID, "--base-url", "http://u:p@h/v1"), "must not contain a user name"),
    "no model": ((*VALID, "--model", " "), "The model name is missing."),
    "unset key": ((*VALID, "--api-key-env", "TOOLGAUGE_UNSET"), "TOOLGAUGE_UNSET is not set"),
    "blank variable": ((*VALID, "--api-key-env", ""), "wants the name of an environment variable"),
    "option without value": ((*VALID, "--option", "top_p"), "write NAME=VALUE"),
    "option twice": ((*VALID, "--option", "n=1", "--option", "n=2"), "'n' is given twice"),
    "option of ours": ((*VALID, "--option", "model=x"), "'model' is set by the probe; remove it"),
    "other dialect": ((*VALID, "--dialect", "acme"), "'acme' does not fit the provider 'openai'"),
    "dialect of another format": (
        (*VALID, "--dialect", "minimax_anthropic"),
        "Choose one of openai, openai_reasoning, deepseek",
    ),
    "no hash": ((*VALID, "--chat-template-hash", "abc"), "write 64 hexadecimal digits"),
    "no template": ((*VALID, "--chat-template", "missing.jinja"), "No such file"),
    "two templates": (
        (*VALID, "--chat-template", "a.jinja", "--chat-template-hash", "a" * 64),
        "not allowed with argument",
    ),
    "other suite": ((*VALID, "--suite", "huge"), "invalid choice: 'huge'"),
    "no samples": ((*VALID, "--samples", "0"), "not a number from 1 to 1000"),
    "no concurrency": ((*VALID, "--concurrency", "-1"), "not a number from 1 to 100"),
    "no deadline": ((*VALID, "--deadline", "nan"), "not a number of seconds"),
    "small budget": ((*VALID, "--max-requests", "20"), "allow more, or ask less"),
    "other metric": ((*VALID, "--fail-under", "speed=1"), "the metric one of parse_success"),
    "no value": ((*VALID, "--fail-under", "leak"), "a share from 0 to 1"),
    "per cent": ((*VALID, "--fail-under", "parse_success=95"), "a share from 0 to 1"),
    "no number": ((*VALID, "--fail-under", "leak=nan"), "a share from 0 to 1"),
    "two outputs": ((*VALID, "--json", "--markdown"), "not allowed with argument"),
    "no folder": ((*VALID, "--junit", "/no/such/folder/r.xml"), "There is no folder"),
    "a folder": ((*VALID, "--transcript", "."), "is a folder; give the name of a file"),
    "no profile": ((*VALID, "--against", "pyproject.toml"), "is not JSON; give the output of"),
    "missing profile": ((*VALID, "--against", "missing.json"), "No such file"),
}


@pytest.mark.parametrize("name", INVALID)
def test_wrong_usage_ends_with_2_and_a_sentence(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is sent, nothing is printed as a result, and the message says what to change."""
    arguments, sentence = INVALID[name]

    try:
        code = main(arguments)
    except SystemExit as exc:
        code = int(str(exc.code))

    output = capsys.readouterr()
    assert code == 2
    assert sentence in output.err
    assert output.out == ""


@pytest.mark.parametrize(
    "text",
    ["[]", '{"capabilities": 5, "metrics": {}}', '{"capabilities": {}, "metrics": {"leak": "x"}}'],
)
def test_a_file_that_is_no_profile_is_refused_before_the_run(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Valid JSON is not enough: the file must be a profile."""
    path = tmp_path / "old.json"
    path.write_text(text)

    assert main([*VALID, "--against", str(path)]) == 2
    assert "is no profile; give the output of `toolgauge probe --json`" in capsys.readouterr().err


def test_a_key_given_in_place_of_its_variable_is_not_repeated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The key must not end up in a log."""
    assert main([*VALID, "--api-key-env", "sk-secret-123"]) == 2
    assert "secret" not in capsys.readouterr().err


def test_every_provider_can_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    """The choices of the command line are the providers of the library."""
    for provider in Provider:
        arguments = [*VALID, "--provider", provider, "--plan"]
        assert main(arguments) == 0
        assert json.loads(capsys.readouterr().out)["key"]["provider"] == provider


def test_a_plan_sends_nothing_and_its_ceiling_holds() -> None:
    """The plan prints requests and tokens; the run stays below them."""
    with MiniVendor().serving() as vendor:
        planned = json.loads(toolgauge(*probe_arguments(vendor.url, "--plan")).stdout)
        sent_by_plan = vendor.requests
        result = toolgauge(*probe_arguments(vendor.url))

    assert sent_by_plan == 0
    assert result.returncode == 0
    assert 0 < vendor.requests <= planned["requests"] <= planned["max_requests"]
    assert 0 < planned["expected_tokens"] < planned["token_ceiling"] / 10
    assert planned["suite"] == "light"


def test_no_more_requests_are_under_way_than_allowed() -> None:
    """The requests for facts of the engine count too."""
    with MiniVendor().serving() as vendor:
        toolgauge(*probe_arguments(vendor.url, "--concurrency", "2"))

    assert vendor.most_at_once <= 2


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    """No run starts whose result would be lost."""
    with MiniVendor().serving() as vendor:
        result = toolgauge(
            *probe_arguments(vendor.url, "--junit", str(tmp_path / "none" / "r.xml"))
        )

    assert (result.returncode, vendor.requests) == (2, 0)


def test_options_reach_the_endpoint_as_json_or_text(vendor_url: str) -> None:
    """`true` is a boolean, `high` is a text."""
    options = ("--option", "seed=7", "--option", "user=me", "--option", 'stop=["x"]')

    result = toolgauge(*probe_arguments(f"{vendor_url}/open/v1", *options))

    exchange = json.loads(result.stdout)["results"][0]["evidence"]["exchanges"][0]
    body = json.loads(exchange["request"]["body"])
    assert (body["seed"], body["user"], body["stop"]) == (7, "me", ["x"])


def test_the_same_seed_asks_the_same_questions(vendor_url: str) -> None:
    """A run can be repeated, and another seed is another run."""

    def request_bodies(seed: str) -> list[str]:
        result = toolgauge(*probe_arguments(f"{vendor_url}/open/v1", "--seed", seed))
        results = json.loads(result.stdout)["results"]
        return [r["evidence"]["exchanges"][0]["request"]["body"] for r in results]

    assert request_bodies("a") == request_bodies("a")
    assert request_bodies("a") != request_bodies("b")


def test_the_environment_holds_no_key_for_the_tests() -> None:
    """The variables that the tests above expect to be unset are."""
    assert "TOOLGAUGE_UNSET" not in os.environ


def test_a_declared_template_is_part_of_the_planned_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file's bytes are hashed, as an engine's own template would be."""
    path = tmp_path / "chat_template.jinja"
    path.write_bytes("{{ bos }}\r\n…".encode())
    by_hand = hashlib.sha256(path.read_bytes()).hexdigest()

    assert main([*VALID, "--plan", "--chat-template", str(path)]) == 0
    from_file = json.loads(capsys.readouterr().out)["key"]
    assert main([*VALID, "--plan", "--chat-template-hash", by_hand.upper()]) == 0
    from_hash = json.loads(capsys.readouterr().out)["key"]

    assert from_file == from_hash
    assert from_file["chat_template_hash"] == by_hand
