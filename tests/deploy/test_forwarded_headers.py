"""No server of ours believes X-Forwarded-For: only dashboard.core.http reads it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IGNORED = {".git", ".venv", "var", "node_modules"}
COMMAND = re.compile(r"uvicorn\W+[\w.]+:application|-m\W+uvicorn")


def files(*names: str) -> Iterator[Path]:
    for name in names:
        for path in ROOT.rglob(name):
            if path.is_file() and not IGNORED & set(path.relative_to(ROOT).parts):
                yield path


def test_every_command_that_serves_ignores_forwarded_headers() -> None:
    """By default uvicorn takes the client's address from X-Forwarded-For of any local peer."""
    texts = {
        path: path.read_text()
        for path in files("*.py", "*.md", "*.yml", "*.service", "Dockerfile", "run")
        if path != Path(__file__)
    }
    serving = {path for path, text in texts.items() if COMMAND.search(text)}

    assert {ROOT / "Dockerfile", ROOT / "launcher/services.py"} <= serving
    assert {path for path in serving if "--no-proxy-headers" not in texts[path]} == set()


def test_every_server_in_a_process_ignores_forwarded_headers() -> None:
    """Also those of simulated vendors and tests: the rule has no exception to remember."""
    believing = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in files("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call)
        and ast.unparse(call.func) in {"uvicorn.Config", "uvicorn.run"}
        if "proxy_headers=False" not in ast.unparse(call)
    ]

    assert believing == []
