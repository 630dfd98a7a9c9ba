"""Files that a command writes: whole or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from cli.probe.probe_options import UsageError


def check_writable(path: Path) -> None:
    """Refuse a path that cannot be written, before a run costs anything."""
    folder = path.resolve().parent
    if path.is_dir():
        raise UsageError(f"{path} is a folder; give the name of a file.")
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}; make it first.")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise UsageError(f"{path} cannot be written; give a file that you may write.")


def write_file(path: Path, text: str) -> None:
    """Replace the file atomically: readers see the old text or the new one."""
    try:
        if path.exists() and not path.is_file():
            # A pipe or device must not be replaced by a file.
            path.write_text(text, encoding="utf-8")
            return
        _replace(path.resolve(), text)
    except OSError as exc:
        raise UsageError(f"{path} cannot be written: {exc.strerror}.") from exc


def _replace(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with draft.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()
