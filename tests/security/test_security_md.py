"""SECURITY.md names the test behind each control: a control whose test is gone is only a claim."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "SECURITY.md").read_text()
TEST_REFERENCES = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TEXT)


def test_every_test_that_is_named_exists() -> None:
    """The file exists and has a function of that name."""
    assert len(TEST_REFERENCES) > 20
    missing = [
        f"{path}::{name}" for path, name in TEST_REFERENCES if name not in _functions(ROOT / path)
    ]
    assert missing == []


def test_every_control_names_a_test() -> None:
    """Each row of the tables of controls ends with at least one test."""
    controls = TEXT.partition("## Controls")[2].partition("## What you must do")[0]
    rows = [line for line in controls.splitlines() if line.startswith("| ")]
    claims = [row for row in rows if not row.startswith(("| threat", "|---"))]
    assert [row for row in claims if not re.search(r"`tests/[\w/]+\.py::\w+`", row)] == []


def _functions(path: Path) -> set[str]:
    if not path.exists():
        return set()
    tree = ast.parse(path.read_text())
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}
