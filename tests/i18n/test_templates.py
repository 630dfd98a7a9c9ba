"""Templates contain only markup: all their texts are in the catalogue, in every branch."""

from __future__ import annotations

import re

from catalogue.sources import ROOT
from tests.i18n.untranslated_texts import find_untranslated

_TEXTS = re.compile(r"\{% (blocktranslate|comment)\b.*?\{% end\1 %\}", re.DOTALL)
_CODE = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
# For developers, only with DEBUG.
_NOT_FOR_READERS = ("templates/design/", "templates/design/page.html")


def test_no_template_says_anything_by_itself() -> None:
    """Text, labels and tooltips in the markup of a template are never translated."""
    values = {}
    for path in ROOT.glob("templates/**/*.html"):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(_NOT_FOR_READERS):
            values[name] = _find_untranslated(path.read_text(encoding="utf-8"))

    assert len(values) > 100
    assert {name: texts for name, texts in values.items() if texts} == {}


def test_a_text_that_was_forgotten_is_found() -> None:
    """The check finds texts in markup and attributes, but not data."""
    forgotten = '<p title="Off">{% if x %}On{% endif %} {{ x }} <b translate="no">data</b></p>'

    assert _find_untranslated(forgotten) == ["Off", "On"]


def _find_untranslated(source: str) -> list[str]:
    return find_untranslated(_CODE.sub("", _TEXTS.sub("", source)))
