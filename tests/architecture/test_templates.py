"""Templates stay readable: the formatter breaks markup, but never a text."""

from __future__ import annotations

from pathlib import Path

TEMPLATES = Path(__file__).parents[2] / "templates"
MAX_LENGTH = 120


def test_no_line_of_a_template_is_longer_than_the_formatter_allows() -> None:
    """A long text belongs in a block of several lines: `blocktranslate trimmed`."""
    lines = {
        f"{path.relative_to(TEMPLATES)}:{number}": line
        for path in TEMPLATES.rglob("*.html")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    }

    assert len(lines) > 5_000
    assert [place for place, line in lines.items() if len(line) > MAX_LENGTH] == []
