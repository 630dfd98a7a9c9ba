"""Codes in the reader's words: states, triggers, outcomes, stages, findings, capabilities.

Tables, addresses and the API keep the codes; only pages say them. A code that no table knows, such
as a name that an endpoint sent, is shown as it is.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from probes.errors import ProbesError

Words = Mapping[str, Promise]

STATUSES: Words = {
    "failing": _("failing"),
    "degraded": _("degraded"),
    "no verdict": _("no verdict"),
    "stale": _("stale"),
    "waiting": _("waiting"),
    "healthy": _("healthy"),
    "off": pgettext_lazy("status", "off"),
}
RUN_STATES: Words = {
    "queued": _("queued"),
    "leased": _("starting"),
    "running": _("running"),
    "finished": _("finished"),
    "failed": _("no verdict"),
    "abandoned": _("stopped"),
}
TRIGGERS: Words = {
    "ttl": _("scheduled"),
    "key_change": _("key change"),
    "fingerprint": _("fingerprint"),
    "baseline": _("baseline"),
    "confirm": _("confirmation"),
    "recovery": _("recovery"),
    "manual": _("manual"),
    "api": _("API"),
}
SUITES: Words = {
    "light": pgettext_lazy("suite", "light"),
    "full": pgettext_lazy("suite", "full"),
}
OUTCOMES: Words = {
    "pass": _("pass"),
    "fail": _("fail"),
    "void": _("void"),
}
KNOWN: Words = {
    "none": pgettext_lazy("baseline", "none"),
    "provisional": pgettext_lazy("baseline", "provisional"),
    "frozen": pgettext_lazy("baseline", "frozen"),
}
STAGES: Words = {
    "shadow": _("shadow"),
    "read_only": _("read only"),
    "write": pgettext_lazy("stage", "write"),
    "full": pgettext_lazy("stage", "full"),
    "rejected": pgettext_lazy("stage", "rejected"),
    "rolled_back": _("rolled back"),
}
RISKS: Words = {
    "read": pgettext_lazy("risk", "read"),
    "write": pgettext_lazy("risk", "write"),
    "dangerous": pgettext_lazy("risk", "dangerous"),
}
LEVELS: Words = {
    "good": _("good"),
    "fair": _("fair"),
    "weak": _("weak"),
    "bad": _("bad"),
    "no data": _("no data"),
}
LANES: Words = {
    "probe": pgettext_lazy("lane", "probe"),
    "live": pgettext_lazy("lane", "live"),
}
INCIDENTS: Words = {
    "open": pgettext_lazy("incident", "open"),
    "recovered": _("recovered"),
    "accepted": _("accepted"),
    "superseded": _("superseded"),
}
DELIVERIES: Words = {
    "waiting": _("waiting"),
    "sent": _("sent"),
    "failed": pgettext_lazy("delivery", "failed"),
    "dropped": _("dropped"),
}
# Of the doctor.
CHECKS: Words = {
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
PROBES: Words = {
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
}
# Values of a capability profile; formats and parsers are names and stay as they are.
CAPABILITIES: Words = {
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
}
FINDINGS: Words = {
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
# What no family claims first: a code that has two meanings is told by its own filter.
_ALL: Words = {
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


def told(error: ProbesError) -> str:
    """What stopped the protocol library, in the reader's language."""
    return gettext(error.pattern).format(**error.facts) if error.facts else gettext(error.pattern)


def spoken(code: object, words: Words = _ALL) -> str:
    """The code in words; one that is not known, without its underscores."""
    text = str(code)
    return str(words[text]) if text in words else text.replace("_", " ")
