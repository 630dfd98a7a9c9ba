"""The records in the `.toml` files of this folder, as values."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule that handles a row, the edit that removes it, and the test that must fail then."""

    row: str
    says: str
    file: str
    find: str
    put: str
    test: str

    def without(self, text: str) -> str:
        """The file's text without the rule."""
        return text.replace(self.find, self.put)


@dataclass(frozen=True, slots=True)
class RowWithoutRule:
    """A row that no code of the library can handle, and why."""

    row: str
    why: str


def record_files() -> list[Path]:
    """Every file of records."""
    return sorted(FOLDER.glob("*.toml"))


def read_rules(paths: list[Path]) -> list[Rule]:
    """The rules of these files, in their order."""
    return [Rule(**entry) for path in paths for entry in _load(path).get("rule", [])]


def read_rows_without_rule(paths: list[Path]) -> list[RowWithoutRule]:
    """The rows of these files that have no rule."""
    return [RowWithoutRule(**entry) for path in paths for entry in _load(path).get("none", [])]


def _load(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))
