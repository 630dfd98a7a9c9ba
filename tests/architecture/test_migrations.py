"""Migrations import nothing of the product, so that a later change of it cannot change them."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = {"django", *sys.stdlib_module_names}


def test_migrations_import_nothing_of_the_product() -> None:
    """Only Django and the standard library."""
    migrations = sorted((ROOT / "dashboard/migrations").glob("*.py"))
    imports = {f"{path.name}: {name}" for path in migrations for name in _imported(path)}

    assert len(migrations) > 20
    assert {line for line in imports if line.split(": ")[1].split(".")[0] not in ALLOWED} == set()


def _imported(path: Path) -> set[str]:
    names = set[str]()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add("dashboard" if node.level else node.module or "")
    return names
