"""Reads docker-compose.yml as Compose does: anchors merged, variables of `.env` filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

_NAME = re.compile(r"\w+")


def read_compose_file(folder: Path) -> dict[str, Any]:
    """The file of a folder, with the variables of its `.env`."""
    env = read_env_file(folder / ".env")
    filled = _fill_in(yaml.safe_load((folder / "docker-compose.yml").read_text()), env)
    assert isinstance(filled, dict)
    return filled


def read_env_file(path: Path) -> dict[str, str]:
    lines = [line for line in path.read_text().splitlines() if line[:1].isalpha()]
    pairs = [line.split("=", 1) for line in lines]
    return {name: value.strip('"') for name, value in pairs}


def _fill_in(node: Any, env: Mapping[str, str]) -> Any:
    if isinstance(node, dict):
        return {key: _fill_in(value, env) for key, value in node.items()}
    if isinstance(node, list):
        return [_fill_in(value, env) for value in node]
    return interpolate(node, env) if isinstance(node, str) else node


def interpolate(text: str, env: Mapping[str, str]) -> str:
    """`${NAME:-default}` and `${NAME:?message}`, which can be nested, and `$$`."""
    before, dollar, after = text.partition("$")
    if not dollar:
        return text
    if after.startswith("$"):
        return f"{before}${interpolate(after[1:], env)}"
    assert after.startswith("{"), f"write $$ for a dollar sign: {text}"
    end = _closing_brace(after)
    return before + _value_of(after[1:end], env) + interpolate(after[end + 1 :], env)


def _closing_brace(text: str) -> int:
    depth = 0
    for position, character in enumerate(text):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if depth == 0:
            return position
    raise AssertionError(f"a brace is not closed: {text}")


def _value_of(expression: str, env: Mapping[str, str]) -> str:
    name = _NAME.match(expression)
    assert name, expression
    operator, rest = expression[name.end() :][:2], expression[name.end() + 2 :]
    if value := env.get(name[0]):
        return value
    assert operator != ":?", f"{name[0]}: {rest}"
    return interpolate(rest, env) if operator == ":-" else ""
