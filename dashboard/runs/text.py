"""Names of probe groups and questions of probes for pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

OTHER = "other"


@dataclass(frozen=True, slots=True)
class ProbeGroup:
    """Probes that test the same capability."""

    code: str
    name: str | Promise
    probes: tuple[str, ...]


GROUPS: tuple[ProbeGroup, ...] = (
    ProbeGroup("format", _("Format"), ("format", "no_call_wanted", "tag_in_text")),
    ProbeGroup(
        "schema",
        _("Schema"),
        ("schema_types", "schema_nested", "schema_union", "no_arguments", "hostile_text"),
    ),
    ProbeGroup("round_trip", _("Single round trip"), ("round_trip",)),
    ProbeGroup(
        "parallel", _("Parallel calls"), ("parallel_mixed", "parallel_same", "parallel_off")
    ),
    ProbeGroup("error_repair", _("Error repair"), ("error_repair",)),
    ProbeGroup("reasoning_replay", _("Reasoning replay"), ("reasoning_replay",)),
    ProbeGroup("streaming", _("Streaming"), ("streaming",)),
    ProbeGroup("closure", _("Closure and trimming"), ("closure",)),
    ProbeGroup("limits", _("Limits"), ("tool_choice", "parameters", "foreign_ids")),
)
# For probes of earlier suites.
_OTHER_GROUP = ProbeGroup(OTHER, _("Other probes"), ())

QUESTIONS: Mapping[str, str | Promise] = MappingProxyType(
    {
        "format": _("Asked in plain words for one tool call, does the model make it?"),
        "no_call_wanted": _("Asked for a plain answer, does the model leave its tools alone?"),
        "tag_in_text": _("Does a sentence that mentions a tool-call tag arrive as a sentence?"),
        "schema_types": _("Do integers, numbers, booleans, choices and nulls arrive as such?"),
        "schema_nested": _("Do nested objects and lists of objects arrive as such?"),
        "schema_union": _(
            "Where a schema leaves several types open, does the one asked for arrive?"
        ),
        "no_arguments": _("Is a tool without arguments called, and with none?"),
        "hostile_text": _(
            "Does a text with quotes, line breaks, emoji and tags arrive character for character?"
        ),
        "round_trip": _("Is the result of a call taken, and used in the answer?"),
        "parallel_mixed": _("Are two calls of different tools made in one turn?"),
        "parallel_same": _("Are two calls of the same tool made in one turn?"),
        "parallel_off": _("Where parallel calls are switched off, does one call arrive at a time?"),
        "error_repair": _("Told by an error what is wrong with a call, does the model correct it?"),
        "reasoning_replay": _("Must the model's reasoning come back with the history?"),
        "streaming": _("Do calls arrive in a stream as they do in a whole answer?"),
        "closure": _("Is a trimmed history taken, and what is said to a broken one?"),
        "tool_choice": _("Which values of tool_choice are taken, and obeyed?"),
        "parameters": _("Are strict schemas, developer messages and unknown parameters taken?"),
        "foreign_ids": _("Which forms of call ids are taken in a history?"),
    }
)
_GROUP_BY_PROBE = {probe: group for group in GROUPS for probe in group.probes}


def probe_group(probe: str) -> ProbeGroup:
    return _GROUP_BY_PROBE.get(probe, _OTHER_GROUP)


def probe_question(probe: str) -> str:
    """The question of a probe; its name if the probe is unknown."""
    return str(QUESTIONS.get(probe, probe.replace("_", " ")))
