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
    ProbeGroup(
        "format",
        _("Format"),
        ("format", "no_call_wanted", "tag_in_text", "many_tools", "prompted_tools"),
    ),
    ProbeGroup(
        "schema",
        _("Schema"),
        (
            "schema_types",
            "schema_nested",
            "schema_union",
            "schema_enum_nested",
            "schema_ref",
            "no_arguments",
            "hostile_text",
            "long_argument",
        ),
    ),
    ProbeGroup("round_trip", _("Round trips"), ("round_trip", "chain", "image_result")),
    ProbeGroup(
        "parallel",
        _("Parallel calls"),
        ("parallel_mixed", "parallel_same", "parallel_three", "parallel_five", "parallel_off"),
    ),
    ProbeGroup("error_repair", _("Error repair"), ("error_repair",)),
    ProbeGroup("reasoning_replay", _("Reasoning replay"), ("reasoning_replay",)),
    ProbeGroup("streaming", _("Streaming"), ("streaming",)),
    ProbeGroup("closure", _("Closure and trimming"), ("closure",)),
    ProbeGroup("limits", _("Limits"), ("tool_choice", "parameters", "foreign_ids", "late_system")),
)
# For probes of earlier suites.
_OTHER_GROUP = ProbeGroup(OTHER, _("Other probes"), ())

QUESTIONS: Mapping[str, str | Promise] = MappingProxyType(
    {
        "format": _("Single call: does the model make the requested tool call?"),
        "no_call_wanted": _("Plain answer: does the model answer without calling a tool?"),
        "tag_in_text": _(
            "Tag in text: does a sentence that mentions a tool-call tag arrive intact?"
        ),
        "schema_types": _(
            "Argument types: do integers, numbers, booleans, enums and nulls keep their type?"
        ),
        "schema_nested": _("Nested arguments: do objects and lists of objects arrive intact?"),
        "schema_union": _("Unions: does the requested type arrive if the schema allows several?"),
        "no_arguments": _("No arguments: is a tool without arguments called with none?"),
        "hostile_text": _(
            "Special characters: do quotes, line breaks, emoji and tags arrive unchanged?"
        ),
        "round_trip": _("Round trip: is a tool result accepted and used in the answer?"),
        "parallel_mixed": _("Parallel calls: do calls of two tools arrive in one turn?"),
        "parallel_same": _("Parallel calls: do two calls of one tool arrive in one turn?"),
        "parallel_off": _("Parallel calls off: does only one call arrive per turn?"),
        "error_repair": _("Error repair: does the model fix a rejected call?"),
        "reasoning_replay": _("Reasoning replay: must reasoning be sent back with the history?"),
        "streaming": _("Streaming: do calls arrive in a stream as in a whole answer?"),
        "closure": _("Trimmed history: is it accepted, and how are broken ones rejected?"),
        "tool_choice": _("tool_choice: which values work?"),
        "parameters": _(
            "Extras: are strict schemas, developer messages and unknown parameters accepted?"
        ),
        "foreign_ids": _("Call ids: which foreign formats are accepted in a history?"),
        "schema_enum_nested": _(
            "Nested enums: do the enum values of a nested object arrive as listed?"
        ),
        "schema_ref": _("Schema references: do $ref and pattern work?"),
        "parallel_three": _("Three parallel calls: do all three arrive in one turn?"),
        "parallel_five": _("Five parallel calls: do all five arrive in one turn?"),
        "many_tools": _(
            "Tool selection: does the model pick the right one of twenty similar tools?"
        ),
        "long_argument": _("Long argument: does a 4 KB text arrive character for character?"),
        "chain": _("Call chain: does each call use the result of the one before?"),
        "late_system": _("Late system message: is it followed, ignored or rejected?"),
        "prompted_tools": _("Prompted tools: does a call format described in the prompt work?"),
        "image_result": _("Image results: does the model see an image in a tool result?"),
    }
)
_GROUP_BY_PROBE = {probe: group for group in GROUPS for probe in group.probes}


def probe_group(probe: str) -> ProbeGroup:
    return _GROUP_BY_PROBE.get(probe, _OTHER_GROUP)


def probe_question(probe: str) -> str:
    """The question of a probe; its name if the probe is unknown."""
    return str(QUESTIONS.get(probe, probe.replace("_", " ")))
