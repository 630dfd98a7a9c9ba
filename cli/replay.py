"""`toolgauge replay`: recorded runs once more, offline: the regression gate."""

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
    """Play every transcript; a line of JSON for each attempt that came out differently."""
    count = _Count()
    try:
        for path in _files(options.paths or [SHIPPED]):
            _play(path, count)
    except TargetError as exc:
        print_message(f"toolgauge replay: {exc.message}")
        return USAGE
    print_message(count.told)
    return BELOW if count.different else GOOD


@dataclass
class _Count:
    played: int = 0
    different: int = 0
    skipped: int = 0

    @property
    def told(self) -> str:
        line = f"{self.played} attempts played, {self.different} came out differently."
        return f"{line} {self.skipped} have no whole answer to play." if self.skipped else line


def _play(path: Path, count: _Count) -> None:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as exc:
        raise TargetError(f"{path} cannot be read: {exc.strerror}.") from exc
    except UnicodeDecodeError as exc:
        raise TargetError(f"{path} is not text in UTF-8.") from exc
    try:
        for played in replay_transcript(text.splitlines()):
            count.played += played.playable
            count.skipped += not played.playable
            if played.difference:
                count.different += 1
                difference = {
                    "file": str(path),
                    "attempt": played.attempt,
                    "message": played.difference,
                }
                print_result(json.dumps(difference))
    except TargetError as exc:
        raise TargetError(f"{path}: {exc.message}") from exc


def _files(paths: Sequence[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        transcripts = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        if not transcripts:
            # A gate that nobody passes through is open.
            raise TargetError(f"There is no transcript (*.jsonl) in {path}.")
        files += transcripts
    return files
