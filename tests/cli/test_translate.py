from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REQUEST = {
    "model": "m",
    "messages": [
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "f", "arguments": '{"a": 1}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "18"},
    ],
}


def translate(text: str, source: str, target: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cli.main", "translate", "--from", source, "--to", target]
    return subprocess.run(
        command, input=text, cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_a_request_is_written_in_another_format() -> None:
    """The body is printed to standard output, ready to be sent."""
    result = translate(json.dumps(REQUEST), "openai", "anthropic")

    body = json.loads(result.stdout)
    assert result.returncode == 0
    assert body["messages"][1]["content"][-1]["input"] == {"a": 1}
    assert body["messages"][2]["content"][0]["tool_use_id"] == "call_1"


def test_what_is_lost_is_said() -> None:
    """An error flag has no place in OpenAI's format: the loss is named on standard error."""
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "no", "is_error": True}
    call = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    turns = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]

    completed = translate(
        json.dumps({"model": "m", "max_tokens": 9, "messages": turns}), "anthropic", "openai"
    )

    assert json.loads(completed.stdout)["messages"][2]["content"] == "Error: no"
    assert "loss: error_flag at " in completed.stderr


def test_options_tools_and_pictures_cross_or_are_named() -> None:
    """What the target has words for is in its body; the rest is on standard error."""
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    request = {
        "model": "m",
        "messages": [{"role": "user", "content": [picture]}],
        "tools": [{"type": "function", "function": {"name": "do.it", "parameters": {}}}],
        "stop": ["END"],
        "seed": 7,
        "user": "u",
    }

    completed = translate(json.dumps(request), "openai", "gemini")

    body = json.loads(completed.stdout)
    assert body["generationConfig"] == {"stopSequences": ["END"], "seed": 7}
    (declared,) = body["tools"][0]["functionDeclarations"]
    assert f"renamed: the tool 'do.it' is sent as {declared['name']!r}" in completed.stderr
    assert "loss: image at $.turns[0].parts[0]: " in completed.stderr
    assert "loss: user at $.generation.user: " in completed.stderr


def test_a_body_that_is_not_of_the_format_is_refused() -> None:
    """Wrong input is wrong usage: exit 2, with the place that breaks the format."""
    broken = translate("{", "openai", "anthropic")
    foreign = translate('{"messages": 5}', "openai", "anthropic")

    assert (broken.returncode, foreign.returncode) == (2, 2)
    assert "not JSON" in broken.stderr
    assert "$.messages" in foreign.stderr


def test_every_wire_format_can_be_named() -> None:
    """The choices of the command are all formats of the library."""
    from probes.adapters import FORMATS

    result = translate("{}", "nothing", "openai")

    assert result.returncode == 2
    assert all(f"'{name}'" in result.stderr or name in result.stderr for name in FORMATS)
