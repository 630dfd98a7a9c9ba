"""The capabilities of a profile in words: what a field is called, and what its value means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext, pgettext_lazy

from dashboard.core.labels import FINDINGS
from dashboard.core.safe_text import clip, visible

# A value of an unexpected kind is a few words; what is longer is not meant for a table.
_SHOWN = 120

# What a caller needs to know first comes first; further fields follow in the order they are kept.
NAMES = {
    "tool_call_format": gettext_lazy("Call format"),
    "parser": gettext_lazy("Text parser"),
    "schema_level": gettext_lazy("Schemas"),
    "supports_parallel_tool_use": gettext_lazy("Parallel calls"),
    "supports_streaming_tool_use": gettext_lazy("Streamed calls"),
    "reasoning_replay": gettext_lazy("Reasoning replay"),
    "error_repair": gettext_lazy("Error repair"),
    "tool_choice": gettext_lazy("Forcing a call"),
    "parallel_switch": gettext_lazy("Off-switch for parallel calls"),
    "accepts": gettext_lazy("Extras in a request"),
    "id_forms": gettext_lazy("Foreign call ids"),
    "trimmed_history": gettext_lazy("Trimmed history"),
    "violations": gettext_lazy("Broken histories"),
}
_MEANINGS = {
    "schema_level": {
        "strict_json_schema": gettext_lazy("whole JSON Schema: nested objects and unions fit"),
        "simple_object": gettext_lazy("flat objects only; nested ones must be simplified"),
        "string_only": gettext_lazy("strings only; numbers and booleans do not fit"),
        "none": gettext_lazy("arguments do not fit any schema"),
    },
    "tool_call_format": {
        "xml": gettext_lazy("as XML in the text, which a parser reads"),
        "json_text": gettext_lazy("as JSON in the text, which a parser reads"),
        "none": gettext_lazy("no calls at all"),
    },
    "reasoning_replay": {
        "none": gettext_lazy("there is no reasoning to send back"),
        "tolerated": gettext_lazy("reasoning may be sent back or left out"),
        "required_same_turn": gettext_lazy("reasoning must be sent back within the same turn"),
        "required_all_turns": gettext_lazy("reasoning of all turns must be sent back"),
        "rejected": gettext_lazy("reasoning that is sent back is refused"),
    },
    "error_repair": {
        "reliable": gettext_lazy("corrects a refused call at the first try"),
        "limited": gettext_lazy("corrects a refused call, but seldom at once"),
        "none": gettext_lazy("never corrects a refused call"),
    },
    "parallel_switch": {
        "obeyed": gettext_lazy("obeyed: one call a turn when asked"),
        "ignored": gettext_lazy("taken and ignored"),
        "refused": gettext_lazy("refused with an error"),
        "no switch": gettext_lazy("the format has none"),
    },
    "trimmed_history": {
        "taken": gettext_lazy("taken: old turns may be left out"),
    },
}
_WORDS = {
    "taken": gettext_lazy("taken"),
    "refused": gettext_lazy("refused"),
    "works": gettext_lazy("works"),
    "ignored": gettext_lazy("ignored"),
    "strict": gettext_lazy("strict schemas"),
    "developer": gettext_lazy("developer messages"),
    "unknown_parameter": gettext_lazy("unknown parameters"),
    "missing": pgettext_lazy("results in a history", "missing"),
    "orphan": pgettext_lazy("results in a history", "orphan"),
    "duplicate": pgettext_lazy("results in a history", "duplicate"),
    "long": pgettext_lazy("form of an id", "long ones"),
    "punctuated": pgettext_lazy("form of an id", "with punctuation"),
}


def name_of(field: str) -> str:
    """What a field is called; one that nobody has named yet goes by its code."""
    found = NAMES.get(field)
    return str(found) if found else visible(field.replace("_", " "))


def meaning_of(field: str, value: object) -> str:
    """The value as a person would say it."""
    if value is None or value == "unknown":
        return _("unknown")
    if isinstance(value, bool):
        return pgettext("capability", "yes") if value else pgettext("capability", "no")
    if isinstance(value, list):
        return ", ".join(str(each) for each in value) or pgettext("capability", "none")
    if isinstance(value, Mapping):
        return _of_parts(value)
    if field == "tool_call_format" and str(value) not in _MEANINGS[field]:
        return _("on the wire, in the format {format}").format(format=_plain(value))
    found = _MEANINGS.get(field, {}).get(str(value))
    return str(found) if found else _plain(value)


def _of_parts(value: Mapping[str, Any]) -> str:
    said = [
        _("{part}: {value}").format(part=_plain(part), value=_part(each))
        for part, each in value.items()
    ]
    return "; ".join(said) or pgettext("capability", "none")


def _part(value: object) -> str:
    if value is None:
        return _("unknown")
    if isinstance(value, bool):
        return _("taken") if value else _("refused")
    return _plain(value)


def _plain(value: object) -> str:
    text = str(value)
    words = {**FINDINGS, **_WORDS}
    return str(words[text]) if text in words else visible(clip(text, _SHOWN)).replace("_", " ")
