"""Records the transcripts that ship with the project, from the simulated vendors.

`python -m transcripts.record [NAME...]`
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from cli.main import main as toolgauge
from simulators.background_server import serve_in_background
from simulators.server import build_app

FOLDER = Path(__file__).resolve().parent
# Fixed, so that a new recording differs only where the vendors or the library do.
PORT = 18_917
KEY_VARIABLE = "TOOLGAUGE_RECORDING_KEY"


@dataclass(frozen=True, slots=True)
class Recording:
    """One path through the library: the endpoint, and the request options."""

    name: str
    provider: str
    base: str
    model: str
    options: tuple[str, ...] = ()


RECORDINGS = (
    Recording(
        "anthropic",
        "anthropic",
        "/anthropic",
        "sim-steady",
        ('thinking={"type": "enabled", "budget_tokens": 1024}',),
    ),
    Recording("openai", "openai", "/openai/v1", "sim-steady"),
    Recording(
        "openai_responses",
        "openai_responses",
        "/responses/v1",
        "sim-steady",
        (
            'reasoning={"effort": "medium"}',
            "store=false",
            'include=["reasoning.encrypted_content"]',
        ),
    ),
    Recording("deepseek", "deepseek", "/deepseek/v1", "sim-v4"),
    Recording("minimax", "minimax", "/minimax/v1", "sim-m2"),
    Recording("glm", "glm", "/glm/api/paas/v4", "sim-4.7"),
    Recording("qwen-xml", "openai", "/qwen-xml/v1", "sim-coder"),
    Recording("gemini", "gemini", "/gemini", "sim-gemini-3"),
    Recording("ollama", "ollama", "/ollama", "sim-steady", ("think=true",)),
)


def main(names: Sequence[str]) -> int:
    """Record the named transcripts, or all; returns the first non-zero exit code."""
    os.environ[KEY_VARIABLE] = "sim-recording"
    codes = []
    with serve_in_background(build_app(latency=(0, 0)), PORT) as url:
        for recording in RECORDINGS:
            if not names or recording.name in names:
                codes.append(_record(recording, url))
                print(f"{recording.name}: {codes[-1]}", file=sys.stderr)
    return next((code for code in codes if code), 0)


def _record(recording: Recording, url: str) -> int:
    options = [argument for option in recording.options for argument in ("--option", option)]
    with redirect_stdout(StringIO()):
        return toolgauge(
            [
                "probe",
                *("--provider", recording.provider, "--base-url", url + recording.base),
                *("--model", recording.model, "--api-key-env", KEY_VARIABLE, *options),
                *("--suite", "light", "--concurrency", "1"),
                *("--transcript", str(FOLDER / f"{recording.name}.jsonl")),
            ]
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
