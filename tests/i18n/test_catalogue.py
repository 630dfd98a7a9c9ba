"""The catalogue has every text of the sources, and nothing else."""

from __future__ import annotations

import pytest
from babel.messages.catalog import Catalog

from catalogue import chinese
from catalogue.gettext_calls import NotALiteral, UnknownName
from catalogue.source_text import Message
from catalogue.sources import collect_messages, python_messages, template_messages
from catalogue.translation_faults import find_faults


def test_every_text_of_the_sources_is_told_in_chinese() -> None:
    """None is missing, empty, fuzzy, obsolete, or without its placeholders.

    `python -m catalogue` updates the file from the sources; then translate it.
    """
    assert find_faults(chinese.read_catalogue(), collect_messages()) == []


def test_the_edited_file_is_as_the_program_writes_it() -> None:
    """An update changes only the texts that changed."""
    fitted = chinese.merge_messages(chinese.read_catalogue(), collect_messages())

    assert chinese.write_po_file(fitted).decode() == chinese.EDITED.read_text(encoding="utf-8")


def test_pages_read_what_translators_edited() -> None:
    """The compiled file agrees with the edited one."""
    assert chinese.read_mo_file(chinese.COMPILED.read_bytes()) == chinese.read_mo_file(
        chinese.write_mo_file(chinese.read_catalogue())
    )


def test_texts_of_templates_are_found_in_every_form() -> None:
    """Trimmed, counted, with a context, and as arguments of other tags."""
    messages = template_messages(
        """{% load i18n %}{% translate "Fleet" %} {% translate 'May' context "rights" %}
        {% blocktranslate trimmed with x=y %}
            A <b>{{ x }}</b> of
            100 %
        {% endblocktranslate %}
        {% blocktranslate count n=n %}{{ n }} run{% plural %}{{ n }} runs{% endblocktranslate %}
        {% when x _("never") %}{{ x|default:_("it's none") }}"""
    )

    assert set(messages) == {
        Message("Fleet"),
        Message("May", context="rights"),
        Message("A <b>%(x)s</b> of 100 %%"),
        Message("%(n)s run", "%(n)s runs"),
        Message("never"),
        Message("it's none"),
    }


def test_texts_of_python_are_found_in_every_form() -> None:
    """By name, by attribute, in pieces; a variable's text was marked elsewhere."""
    messages = python_messages(
        '_("a" " b"); say("c"); wording.mark("d"); ngettext("e", "f", n); pgettext("g", "h")\n'
        'say(NAMES[x]); print("no text")'
    )

    assert set(messages) == {
        Message("a b"),
        Message("c"),
        Message("d"),
        Message("e", "f"),
        Message("h", context="g"),
    }


@pytest.mark.parametrize("text", ['_(f"{n} runs")', 'say("a" + b)'])
def test_a_text_that_is_put_together_first_is_refused(text: str) -> None:
    """No catalogue could contain a text that is built at run time."""
    with pytest.raises(NotALiteral, match="line 1"):
        list(python_messages(text))


def test_a_name_under_which_no_text_is_looked_for_is_refused() -> None:
    """Its texts would never reach a translator."""
    with pytest.raises(UnknownName, match="gettext_lazy as lazy"):
        list(python_messages("from django.utils.translation import gettext_lazy as lazy"))


@pytest.mark.parametrize(
    ("source", "translation", "fault"),
    [
        ("{n} of {m}", "{m} 次", "other placeholders"),
        ("%(n)s runs", "运行", "other placeholders"),
        ("a <b>word</b>", "<b>词", "other placeholders"),
        ("run", "", "not translated"),
        ("run", "运行 ", "spaces at an end"),
        ("API token", "API令牌", "no space between Chinese and Latin"),
        ("Not yet.", "还没有.", "a narrow mark after Chinese"),
    ],
)
def test_a_translation_that_does_not_fit_is_named(
    source: str, translation: str, fault: str
) -> None:
    """Each fault has a message that a translator can act on."""
    catalog = Catalog(locale="zh_Hans")
    catalog.add(source, translation)

    (message,) = find_faults(catalog, [Message(source)])

    assert message.startswith(fault)


def test_missing_fuzzy_and_leftover_texts_are_named() -> None:
    """A catalogue must be neither behind the sources nor ahead of them."""
    catalog = Catalog(locale="zh_Hans")
    catalog.add("old", "旧的")
    catalog.add("unsure", "不确定", flags=["fuzzy"])

    faults = find_faults(catalog, [Message("new"), Message("unsure")])

    assert faults == [
        "not in the catalogue: 'new'",
        "fuzzy: 'unsure'",
        "no longer in the sources: 'old'",
    ]
