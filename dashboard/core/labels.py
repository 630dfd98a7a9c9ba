"""Translated labels of codes: states, triggers, outcomes, stages, findings, capabilities.

Tables, URLs and the API use the codes; pages show the labels. A code without a label, such as a
name that an endpoint sent, is shown as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext, pgettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from dashboard.core.safe_text import clip, visible
from probes.errors import ProbesError

Labels = Mapping[str, Promise]

STATUSES: Labels = {
    "failing": _("failing"),
    "unreachable": _("unreachable"),
    "refused": _("refused"),
    "degraded": _("degraded"),
    "no verdict": _("no verdict"),
    "stale": _("stale"),
    "waiting": _("waiting"),
    "healthy": _("healthy"),
    "off": pgettext_lazy("status", "off"),
}
RUN_STATES: Labels = {
    "queued": _("queued"),
    "leased": _("starting"),
    "running": _("running"),
    "finished": _("finished"),
    "failed": _("no verdict"),
    "abandoned": _("stopped"),
}
TRIGGERS: Labels = {
    "ttl": _("scheduled"),
    "key_change": _("key change"),
    "fingerprint": _("fingerprint"),
    "baseline": _("baseline"),
    "confirm": _("confirmation"),
    "recovery": _("recovery"),
    "manual": _("manual"),
    "api": _("API"),
}
SUITES: Labels = {
    "light": pgettext_lazy("suite", "light"),
    "full": pgettext_lazy("suite", "full"),
}
OUTCOMES: Labels = {
    "pass": _("pass"),
    "fail": _("fail"),
    "void": _("void"),
}
BASELINE_STATES: Labels = {
    "none": pgettext_lazy("baseline", "none"),
    "provisional": pgettext_lazy("baseline", "provisional"),
    "frozen": pgettext_lazy("baseline", "frozen"),
}
STAGES: Labels = {
    "shadow": _("shadow"),
    "read_only": _("read only"),
    "write": pgettext_lazy("stage", "write"),
    "full": pgettext_lazy("stage", "full"),
    "rejected": pgettext_lazy("stage", "rejected"),
    "rolled_back": _("rolled back"),
}
RISKS: Labels = {
    "read": pgettext_lazy("risk", "read"),
    "write": pgettext_lazy("risk", "write"),
    "dangerous": pgettext_lazy("risk", "dangerous"),
}
LEVELS: Labels = {
    "good": _("good"),
    "fair": _("fair"),
    "weak": _("weak"),
    "bad": _("bad"),
    "no data": _("no data"),
}
LANES: Labels = {
    "probe": pgettext_lazy("lane", "probe"),
    "live": pgettext_lazy("lane", "live"),
}
INCIDENTS: Labels = {
    "open": pgettext_lazy("incident", "open"),
    "recovered": _("recovered"),
    "accepted": _("accepted"),
    "superseded": _("superseded"),
}
DELIVERIES: Labels = {
    "waiting": _("waiting"),
    "sent": _("sent"),
    "failed": pgettext_lazy("delivery", "failed"),
    "dropped": _("dropped"),
}
DOCTOR_CHECKS: Labels = {
    "workers": _("workers"),
    "schedule": _("schedule"),
    "beat": _("beat"),
    "leases": _("leases"),
    "queue": _("queue"),
    "rollups": _("rollups"),
    "partitions": _("partitions"),
    "overflow": _("overflow"),
    "doorbells": _("doorbells"),
    "stale endpoints": _("stale endpoints"),
    "budgets": _("budgets"),
}
PROBES: Labels = {
    "format": _("format"),
    "no_call_wanted": _("no call wanted"),
    "tag_in_text": _("tag in text"),
    "schema_types": _("schema types"),
    "schema_nested": _("schema nested"),
    "schema_union": _("schema union"),
    "no_arguments": _("no arguments"),
    "hostile_text": _("hostile text"),
    "round_trip": _("round trip"),
    "parallel_mixed": _("parallel mixed"),
    "parallel_same": _("parallel same"),
    "parallel_off": _("parallel off"),
    "error_repair": _("error repair"),
    "reasoning_replay": _("reasoning replay"),
    "streaming": _("streaming"),
    "closure": _("closure"),
    "tool_choice": _("tool choice"),
    "parameters": _("parameters"),
    "foreign_ids": _("foreign ids"),
    "schema_enum_nested": _("nested enums"),
    "schema_ref": _("schema references"),
    "parallel_three": _("three parallel calls"),
    "parallel_five": _("five parallel calls"),
    "many_tools": _("tool selection"),
    "long_argument": _("long argument"),
    "chain": _("call chain"),
    "late_system": _("late system message"),
    "prompted_tools": _("prompted tools"),
    "image_result": _("image result"),
}
# Values of a capability profile; formats and parsers are names and stay as they are.
CAPABILITIES: Labels = {
    "unknown": _("unknown"),
    "none": _("none"),
    "strict_json_schema": _("strict json schema"),
    "simple_object": _("simple object"),
    "string_only": _("string only"),
    "json_text": _("JSON in text"),
    "xml": _("XML in text"),
    "tolerated": _("tolerated"),
    "required_same_turn": _("required same turn"),
    "required_all_turns": _("required all turns"),
    "rejected": pgettext_lazy("capability", "rejected"),
    "reliable": _("reliable"),
    "limited": _("limited"),
    "obeyed": _("obeyed"),
    "ignored": _("ignored"),
    "no switch": _("no switch"),
    "refused": _("refused"),
    "taken": _("taken"),
    "works": _("works"),
    "anywhere": _("anywhere"),
    "first_only": _("first only"),
}
FINDINGS: Labels = {
    "no_call": _("no call"),
    "leaked_call": _("leaked call"),
    "extra_call": _("extra call"),
    "wrong_tool": _("wrong tool"),
    "unknown_tool": _("unknown tool"),
    "invalid_json": _("invalid json"),
    "not_an_object": _("not an object"),
    "residual_markup": _("residual markup"),
    "duplicate_key": _("duplicate key"),
    "schema_mismatch": _("schema mismatch"),
    "wrong_value": _("wrong value"),
    "truncated_call": _("truncated call"),
    "reasoning_only": _("reasoning only"),
    "result_unused": _("result unused"),
    "not_repaired": _("not repaired"),
    "id_reused": _("id reused"),
    "stream_differs": _("stream differs"),
    "not_streamed": _("not streamed"),
    "wrong_order": _("wrong order"),
    "choice_ignored": _("choice ignored"),
    "deviation": _("deviation"),
    "wire_error": _("wire error"),
    "no_tools": _("no tools"),
    "schema_refused": _("schema refused"),
    "forced_choice": _("forced choice"),
    "param_unknown": _("param unknown"),
    "endpoint_mismatch": _("endpoint mismatch"),
    "thinking_mode_refused": _("thinking mode refused"),
    "role_refused": _("role refused"),
    "server_parse": _("server parse"),
    "closure_missing": _("closure missing"),
    "closure_orphan": _("closure orphan"),
    "closure_duplicate": _("closure duplicate"),
    "closure_order": _("closure order"),
    "id_format": _("id format"),
    "args_history": _("args history"),
    "replay_missing": _("replay missing"),
    "replay_signature_missing": _("replay signature missing"),
    "replay_signature_bad": _("replay signature bad"),
    "replay_prefix_bound": _("replay prefix bound"),
    "replay_item": _("replay item"),
    "target_error": _("target error"),
    "unreachable": _("unreachable"),
    "timed_out": _("timed out"),
    "too_large": _("too large"),
    "auth_rejected": _("auth rejected"),
    "not_found": _("not found"),
    "rate_limited": _("rate limited"),
    "overloaded": _("overloaded"),
    "redirected": _("redirected"),
    "not_json": _("not json"),
    "broken_off": _("broken off"),
    "provider_error": _("provider error"),
    "our_fault": _("our fault"),
}
# The last entry wins; a code with two meanings has a template filter of its own.
_ALL_CODES: Labels = {
    **CAPABILITIES,
    **FINDINGS,
    **PROBES,
    **RISKS,
    **LEVELS,
    **DELIVERIES,
    **INCIDENTS,
    **TRIGGERS,
    **STAGES,
    **STATUSES,
    **OUTCOMES,
}
# Longer values do not fit into a table.
_MAX_VALUE_LENGTH = 120

# In the order of the page; fields without a name follow in the order of the profile.
CAPABILITY_NAMES = {
    "tool_call_format": _("Call format"),
    "parser": _("Text parser"),
    "schema_level": _("Schemas"),
    "supports_parallel_tool_use": _("Parallel calls"),
    "parallel": _("Calls in one turn"),
    "parallel_calls": _("Most calls in one turn"),
    "supports_streaming_tool_use": _("Streamed calls"),
    "streaming": _("Streaming"),
    "reasoning_replay": _("Reasoning replay"),
    "error_repair": _("Error repair"),
    "result_use": _("Result use"),
    "value_fidelity": _("Value fidelity"),
    "tool_choice": _("Forcing a call"),
    "parallel_switch": _("Off-switch for parallel calls"),
    "accepts": _("Extras in a request"),
    "id_forms": _("Foreign call ids"),
    "trimmed_history": _("Trimmed history"),
    "violations": _("Broken histories"),
    "deviations": _("Deviations from the format"),
    "system_position": _("System messages"),
    "prompted_tools": _("Prompted tools"),
    "result_role": _("Tool results"),
    "image_result": _("Images in results"),
    "output_limit_parameter": _("Output limit"),
    "output_limit_cap": _("Highest output limit"),
}
_CAPABILITY_MEANINGS = {
    "schema_level": {
        "strict_json_schema": _("whole JSON Schema: nested objects and unions fit"),
        "simple_object": _("flat objects only; nested ones must be simplified"),
        "string_only": _("strings only; numbers and booleans do not fit"),
        "none": _("arguments do not fit any schema"),
    },
    "tool_call_format": {
        "xml": _("as XML in the text, which a parser reads"),
        "json_text": _("as JSON in the text, which a parser reads"),
        "none": _("no calls at all"),
        "unsettled": _("not settled"),
    },
    "parallel": {
        "any": _("several calls, of one tool or of different tools"),
        "same_tool": _("several calls of one tool, not of different tools"),
        "mixed": _("several calls of different tools"),
        "none": _("one call at a time"),
    },
    "reasoning_replay": {
        "none": _("there is no reasoning to send back"),
        "tolerated": _("reasoning may be sent back or left out"),
        "required_same_turn": _("reasoning must be sent back within the same turn"),
        "required_all_turns": _("reasoning of all turns must be sent back"),
        "rejected": _("reasoning that is sent back is refused"),
    },
    "error_repair": {
        "reliable": _("corrects a refused call at the first try"),
        "limited": _("corrects a refused call, but seldom at once"),
        "none": _("never corrects a refused call"),
    },
    "result_use": {
        "reliable": _("answers use the results of tools"),
        "limited": _("answers use the results of tools only at times"),
        "none": _("answers never use the results of tools"),
    },
    "value_fidelity": {
        "reliable": _("values arrive exactly as requested"),
        "limited": _("some values arrive changed"),
        "none": _("every value arrives changed"),
    },
    "parallel_switch": {
        "obeyed": _("obeyed: one call a turn when asked"),
        "ignored": _("taken and ignored"),
        "refused": _("refused with an error"),
        "no switch": _("the format has none"),
    },
    "system_position": {
        "anywhere": _("followed anywhere in a conversation"),
        "first_only": _("accepted at the beginning only"),
        "ignored": _("accepted later on, but ignored there"),
    },
    "prompted_tools": {
        "hermes": _("calls between tool_call tags work"),
        "json_text": _("calls as plain JSON work"),
        "none": _("no described format works"),
    },
    "result_role": {
        "tool": _("accepted and used in their own role"),
        "user_text": _("used only as text in a user message"),
        "none": _("not used, not even as text in a user message"),
    },
    "image_result": {
        "used": _("seen in a tool result"),
        "used_in_user_turn": _("seen only in a user message after the result"),
        "unused": _("accepted, but not seen"),
        "refused": _("refused with an error"),
    },
    "trimmed_history": {
        "taken": _("taken: old turns may be left out"),
    },
}
_CAPABILITY_PARTS = {
    "taken": _("taken"),
    "refused": _("refused"),
    "works": _("works"),
    "ignored": _("ignored"),
    "unsettled": _("not settled"),
    "unknown": _("an unknown format"),
    "fits": _("fits"),
    "does_not_fit": _("does not fit"),
    "strict": _("strict schemas"),
    "developer": _("developer messages"),
    "unknown_parameter": _("unknown parameters"),
    "missing": pgettext_lazy("results in a history", "missing"),
    "orphan": pgettext_lazy("results in a history", "orphan"),
    "duplicate": pgettext_lazy("results in a history", "duplicate"),
    "long": pgettext_lazy("form of an id", "long ones"),
    "punctuated": pgettext_lazy("form of an id", "with punctuation"),
}


def probe_error_text(error: ProbesError) -> str:
    """The message of an error of the protocol library, in the reader's language."""
    return gettext(error.pattern).format(**error.facts) if error.facts else gettext(error.pattern)


def code_label(code: object, labels: Labels = _ALL_CODES) -> str:
    """The label of a code; an unknown code without its underscores."""
    text = str(code)
    return str(labels[text]) if text in labels else text.replace("_", " ")


def capability_name(field: str) -> str:
    """The name of a field of the profile; an unknown field by its code."""
    name = CAPABILITY_NAMES.get(field)
    return str(name) if name else visible(field.replace("_", " "))


def capability_meaning(field: str, value: object) -> str:
    """The value of a field, in a few words."""
    if value is None or value == "unknown":
        return gettext("unknown")
    if isinstance(value, bool):
        return pgettext("capability", "yes") if value else pgettext("capability", "no")
    if isinstance(value, list):
        parts = [_list_part(each) for each in value]
        return ", ".join(parts) or pgettext("capability", "none")
    if isinstance(value, Mapping):
        return _join_parts(value)
    if field == "tool_call_format" and str(value) not in _CAPABILITY_MEANINGS[field]:
        return gettext("on the wire, in the format {format}").format(format=_value_label(value))
    meaning = _CAPABILITY_MEANINGS.get(field, {}).get(str(value))
    return str(meaning) if meaning else _value_label(value)


def unsettled_meaning(field: str, value: object, counts: Mapping[str, Any]) -> str:
    """A field whose trials contradict each other: how often each value was seen."""
    if isinstance(value, list | Mapping):
        parts = ", ".join(_value_label(name) for name in counts)
        return gettext("{meaning}; not settled: {parts}").format(
            meaning=capability_meaning(field, value), parts=parts
        )
    seen = ", ".join(
        gettext("{value} in {count}").format(value=_count_label(name), count=count)
        for name, count in counts.items()
    )
    return gettext("not settled: {counts}").format(counts=seen) if seen else gettext("not settled")


def _count_label(name: str) -> str:
    answers = {"true": pgettext("capability", "yes"), "false": pgettext("capability", "no")}
    return answers.get(name) or _value_label(name)


def _list_part(value: object) -> str:
    if not isinstance(value, Mapping):
        return str(value)
    # A deviation from the wire format; health/client_view.py lists them.
    code, clients = str(value.get("code")), value.get("breaks") or ()
    if not clients:
        return code
    return gettext("{deviation} (breaks {clients})").format(
        deviation=code, clients=", ".join(map(str, clients))
    )


def _join_parts(value: Mapping[str, Any]) -> str:
    parts = [
        gettext("{part}: {value}").format(part=_value_label(part), value=_part_value(each))
        for part, each in value.items()
    ]
    return "; ".join(parts) or pgettext("capability", "none")


def _part_value(value: object) -> str:
    if value is None:
        return gettext("unknown")
    if isinstance(value, bool):
        return gettext("taken") if value else gettext("refused")
    return _value_label(value)


def _value_label(value: object) -> str:
    text = str(value)
    labels = {**FINDINGS, **_CAPABILITY_PARTS}
    return (
        str(labels[text])
        if text in labels
        else visible(clip(text, _MAX_VALUE_LENGTH)).replace("_", " ")
    )
