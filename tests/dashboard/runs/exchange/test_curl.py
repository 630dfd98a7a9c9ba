from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from dashboard.core.safe_text import visible
from dashboard.runs.exchange import curl
from dashboard.runs.exchange.stored_evidence import StoredRequest

# A fake curl that logs its arguments, each terminated by NUL, and then its stdin.
FAKE = """#!/bin/sh
for argument in "$@"; do printf '%s\\0' "$argument" >> "$0.log"; done
case " $* " in *" @- "*) cat >> "$0.log" ;; esac
"""
SHELLS = [shell for shell in ("sh", "bash", "dash") if shutil.which(shell)]
BODIES = {
    "plain": '{"a": 1}',
    "quotes": """{"a": "it's \\"so\\" $HOME `id` $(id) \\\\ !x"}""",
    "hidden": '{"a": "\u202e\u200b\x7f\u2028\U000e0041"}',
    "lines": '{\n\t"a": "%s %% \\u0000"\n}',
    "at": "@/etc/passwd",
    "empty": "",
    "return": '{"a":\r\n1}',
    "no json": "a\x00b\x1b[31m\ud800 100% \\n 'x'",
    "long": json.dumps({"a": "it's " * 30_000}),
}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_command_sends_the_stored_body(shell: str, tmp_path: Path) -> None:
    """In every shell, curl receives the same bytes, or the same JSON."""
    for name, body in BODIES.items():
        arguments = _run(
            shell,
            tmp_path / name.replace(" ", "-"),
            curl.build_command(_build_request(body), "openai", has_key=True),
        )
        arrived = arguments[-1].encode("utf-8", "surrogateescape")
        if name == "hidden":
            assert json.loads(arrived) == json.loads(body)
        else:
            assert arrived == body.encode("utf-8", "surrogatepass"), name


def test_the_key_is_a_variable(tmp_path: Path) -> None:
    """The header of each provider has $API_KEY instead of the key."""
    request = StoredRequest(
        "POST", "http://127.0.0.1:9/v1?key=[redacted]", {"content-type": "text/x"}, "{}"
    )

    for provider, header in (
        ("openai", "authorization: Bearer it's $me"),
        ("anthropic", "x-api-key: it's $me"),
        ("gemini", "x-goog-api-key: it's $me"),
    ):
        arguments = _run(
            "sh", tmp_path / provider, curl.build_command(request, provider, has_key=True)
        )
        assert header in arguments
        assert "http://127.0.0.1:9/v1?key=it's $me" in arguments
    assert "API_KEY" not in curl.build_command(_build_request("{}"), "openai", has_key=False)


@pytest.mark.parametrize("body", list(BODIES.values()))
def test_the_command_has_no_hidden_characters(body: str) -> None:
    """The command has no invisible or control characters that a terminal would act on."""
    command = curl.build_command(_build_request(body), "openai", has_key=True)

    assert visible(command) == command


def _build_request(body: str) -> StoredRequest:
    headers = {"content-type": "application/json", "x-odd": "it's; $(id)"}
    return StoredRequest("POST", "http://127.0.0.1:9/v1/[a]{b}?x=1&y='2'", headers, body)


def _run(shell: str, folder: Path, command: str) -> list[str]:
    folder.mkdir()
    fake = folder / "curl"
    fake.write_text(FAKE)
    fake.chmod(0o755)
    script = folder / "command.sh"
    script.write_bytes(command.encode())
    env = {"PATH": f"{folder}:/usr/bin:/bin", "API_KEY": "it's $me", "HOME": "/nowhere"}
    subprocess.run([shell, str(script)], env=env, check=True, cwd=folder)
    raw = (folder / "curl.log").read_bytes().decode("utf-8", "surrogateescape")
    # A piped body comes last, and may contain NUL.
    if "--data-binary\0@-\0" in raw:
        head, _, body = raw.partition("--data-binary\0@-\0")
        return [*head.split("\0"), body]
    return raw.split("\0")[:-1]
