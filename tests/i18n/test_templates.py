"""Templates hold markup alone: what they say is in the catalogue, whatever branch is taken."""

from __future__ import annotations

import re

from catalogue.sources import ROOT
from tests.i18n.reading import unmarked

_SAID = re.compile(r"\{% (blocktranslate|comment)\b.*?\{% end\1 %\}", re.DOTALL)
_CODE = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
# For those who build pages, where DEBUG is on.
_NOT_FOR_READERS = ("templates/design/", "templates/design/page.html")


def test_no_template_says_anything_by_itself() -> None:
    """Text, labels and tooltips in the markup of a template are never translated."""
    values = {}
    for path in ROOT.glob("templates/**/*.html"):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(_NOT_FOR_READERS):
            values[name] = _unmarked(path.read_text(encoding="utf-8"))

    assert len(values) > 100
    assert {name: texts for name, texts in values.items() if texts} == {}


def test_a_text_that_was_forgotten_is_found() -> None:
    """In the markup and in its attributes; not what is data."""
    forgotten = '<p title="Off">{% if x %}On{% endif %} {{ x }} <b translate="no">data</b></p>'

    assert _unmarked(forgotten) == ["Off", "On"]


def _unmarked(source: str) -> list[str]:
    return unmarked(_CODE.sub("", _SAID.sub("", source)))
