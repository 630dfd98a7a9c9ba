"""Takes each recorded rule out of a copy of the project and expects its test to fail.

python -m tests.zoo [ROW ...] [--file parsing.toml]
"""

from __future__ import annotations

import argparse
import compileall
import os
import py_compile
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.zoo.records import FOLDER, ROOT, Rule, read_rules, record_files

NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", "var", "__pycache__", ".hypothesis", ".*_cache", "node_modules", "*.pyc"
)

# The tests of the library need neither Django nor the fixtures above this folder; without them, and
# without autoloaded plugins, a run takes half the time.
PYTEST = (
    *("-m", "pytest", "-q", "-x", "--tb=short", "--confcutdir=tests/zoo"),
    *("-p", "pytest_timeout", "-p", "_hypothesis_pytestplugin", "-p", "no:cacheprovider"),
    *("-o", "addopts=", "-o", "filterwarnings=", "--timeout=120", "--hypothesis-seed=0"),
)
ISOLATED_ENV = {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

# A test that fails with one of these shows that the edit is invalid, not that the rule is needed.
CLUMSY_EDIT = re.compile(
    r"^E +((?:Name|Import|ModuleNotFound|Syntax|Indentation|UnboundLocal)Error\b.*)", re.MULTILINE
)
REASON = re.compile(r"^E +(.*)", re.MULTILINE)


def main(arguments: Sequence[str]) -> int:
    """Exit with 1 if a test passes without its rule."""
    options = _options(arguments)
    paths = [FOLDER / options.file] if options.file else record_files()
    rules = [r for r in read_rules(paths) if not options.rows or r.row in options.rows]
    if not rules:
        print("no record of these rows")
        return 1
    with tempfile.TemporaryDirectory(prefix="zoo-") as folder:
        return _check_rules(rules, _copy(Path(folder) / "project"))


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.zoo", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="for example Z19")
    parser.add_argument("--file", help="one file of records in tests/zoo")
    return parser.parse_args(arguments)


def _copy(project: Path) -> Path:
    """A copy of the tree, compiled so that a change is detected by content, not by time."""
    shutil.copytree(ROOT, project, ignore=NOT_COPIED, symlinks=True)
    compileall.compile_dir(
        project, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH
    )
    return project


def _check_rules(rules: list[Rule], project: Path) -> int:
    unmodified = _run(project, *sorted({rule.test for rule in rules}))
    if unmodified.returncode != 0:
        print(
            unmodified.stdout,
            unmodified.stderr,
            "the tests fail with every rule in place",
            sep="\n",
        )
        return 1
    verdicts = [_check_rule(rule, project) for rule in rules]
    needed = verdicts.count(True)
    print(f"{needed} of {len(rules)} rules are needed by their test")
    return 0 if needed == len(rules) else 1


def _check_rule(rule: Rule, project: Path) -> bool:
    """Whether the rule's test fails, for the right reason, without the rule."""
    path = project / rule.file
    text = path.read_text(encoding="utf-8")
    if text.count(rule.find) != 1 or rule.put == rule.find:
        return _report(rule, False, "STALE: the text to find is not there exactly once")
    path.write_text(rule.without(text), encoding="utf-8")
    try:
        result = _run(project, rule.test)
    finally:
        path.write_text(text, encoding="utf-8")
    return _judge(rule, result)


def _judge(rule: Rule, result: subprocess.CompletedProcess[str]) -> bool:
    reason = REASON.search(result.stdout)
    message = reason[1] if reason else ""
    if result.returncode == 0:
        return _report(rule, False, "SURVIVED: the test passes without the rule")
    if clumsy := CLUMSY_EDIT.search(result.stdout):
        return _report(rule, False, f"CLUMSY: {clumsy[1]}")
    if result.returncode != 1 or "Timeout" in message:
        return _report(rule, False, f"BROKEN: exit code {result.returncode} {message}")
    return _report(rule, True, f"fails: {message}")


def _report(rule: Rule, needed: bool, outcome: str) -> bool:
    mark = "ok  " if needed else "BAD "
    print(f"{mark}{rule.row:4} {rule.says} | {outcome[:100]}", flush=True)
    return needed


def _run(project: Path, *tests: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *PYTEST, *tests],
        cwd=project,
        env=os.environ | ISOLATED_ENV | {"PYTHONPATH": str(project)},
        capture_output=True,
        text=True,
        check=False,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
