"""The table of options in docs/protocol.md is the one that the adapters use."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from probes.adapters.generation import OPTIONS
from probes.messages import Generation

PAGE = Path(__file__).resolve().parents[3] / "docs" / "protocol.md"
FORMATS = ("anthropic", "openai", "openai_responses", "gemini", "ollama")


def option_rows() -> list[str]:
    """One row per option: its fields in each format, or a dash for a loss."""
    rows = []
    for field in fields(Generation):
        cells = [f"`{field.name}`", *(_cell(format, field.name) for format in FORMATS)]
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def _cell(format: str, name: str) -> str:
    paths = [path for option in OPTIONS[format] if option.name == name for path in option.paths]
    return ", ".join(f"`{path}`" for path in paths) or "–"


def test_the_page_has_every_option_of_every_format() -> None:
    """Whoever adds an option adds it to the page."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()

    missing = [row for row in option_rows() if row not in lines]

    assert missing == []
