"""`toolgauge replay`: replays recorded runs offline, as a regression gate."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cli.terminal import print_message, print_result
from probes.errors import TargetError
from probes.transcripts import replay_transcript

SHIPPED = Path(__file__).resolve().parent.parent / "transcripts"
GOOD, BELOW, USAGE = 0, 1, 2


def run(options: argparse.Namespace) -> int:
    """Replay every transcript; print a line of JSON per attempt with a different result."""
    counts = _ReplayCounts()
    try:
        for path in _transcript_files(options.paths or [SHIPPED]):
            _replay_file(path, counts)
    except TargetError as exc:
        print_message(f"toolgauge replay: {exc.message}")
        return USAGE
    print_message(counts.summary)
    return BELOW if counts.different else GOOD


@dataclass
class _ReplayCounts:
    played: int = 0
    different: int = 0
    skipped: int = 0

    @property
    def summary(self) -> str:
        line = f"{self.played} attempts played, {self.different} came out differently."
        return f"{line} {self.skipped} have no whole answer to play." if self.skipped else line


def _replay_file(path: Path, counts: _ReplayCounts) -> None:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as exc:
        raise TargetError(f"{path} cannot be read: {exc.strerror}.") from exc
    except UnicodeDecodeError as exc:
        raise TargetError(f"{path} is not text in UTF-8.") from exc
    try:
        for replayed in replay_transcript(text.splitlines()):
            counts.played += replayed.playable
            counts.skipped += not replayed.playable
            if replayed.difference:
                counts.different += 1
                difference = {
                    "file": str(path),
                    "attempt": replayed.attempt,
                    "message": replayed.difference,
                }
                print_result(json.dumps(difference))
    except TargetError as exc:
        raise TargetError(f"{path}: {exc.message}") from exc


def _transcript_files(paths: Sequence[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        transcripts = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        if not transcripts:
            # Without transcripts the gate would pass without a check.
            raise TargetError(f"There is no transcript (*.jsonl) in {path}.")
        files += transcripts
    return files
