"""Which fault must fail which probe with which finding: one row per check of a judge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from probes.outcomes import FindingKind as Kind
from probes.suite import PROBES

# The vendor of most cases: plain Chat Completions, no key, no reasoning.
PLAIN = "open"
# A vendor with reasoning, which must be sent back.
THINKING = "deepseek"


@dataclass(frozen=True, slots=True)
class Case:
    """With these faults the probe must fail with the finding; `says` is part of its message."""

    probe: str
    faults: str
    finding: Kind
    says: str = ""
    vendor: str = PLAIN
    trials: int = 1  # more where only some drawn values show the fault


# Probes that send no tools.
_WITHOUT_TOOLS = ("late_system", "prompted_tools")
# In these probes, the same judge checks every turn that must contain a call.
_CALL_PROBES = tuple(
    name
    for name in PROBES
    if name not in ("no_call_wanted", "tag_in_text", "tool_choice", "foreign_ids")
    and name not in _WITHOUT_TOOLS
)
_CALL_FAULTS = (
    ("prose", Kind.NO_CALL, "prose"),
    ("empty", Kind.NO_CALL, "empty"),
    ("reasoning-only", Kind.REASONING_ONLY, ""),
    ("leak-hermes", Kind.LEAKED_CALL, ""),
    ("leak-unknown-tags", Kind.LEAKED_CALL, "an unknown format"),
    ("invalid-json", Kind.INVALID_JSON, ""),
    ("truncated", Kind.TRUNCATED_CALL, ""),
    ("unknown-tool", Kind.UNKNOWN_TOOL, ""),
    ("missing-required", Kind.SCHEMA_MISMATCH, ""),
)

_PROBE_CASES = (
    Case("format", "leak-and-call", Kind.LEAKED_CALL),
    Case("format", "leak-unknown-json", Kind.LEAKED_CALL, "an unknown format"),
    Case("format", "leak-unknown-code", Kind.LEAKED_CALL, "an unknown format"),
    Case("format", "wrong-enum", Kind.SCHEMA_MISMATCH),
    Case("format", "other-values", Kind.WRONG_VALUE),
    Case("format", "twice", Kind.EXTRA_CALL),
    Case("no_call_wanted", "unasked-call", Kind.EXTRA_CALL),
    Case("no_call_wanted", "shouting", Kind.WRONG_VALUE),
    Case("tag_in_text", "unasked-call", Kind.EXTRA_CALL),
    Case("tag_in_text", "cuts-at-tag", Kind.WRONG_VALUE),
    Case("schema_types", "strings-only", Kind.SCHEMA_MISMATCH),
    Case("schema_types", "extra-argument", Kind.SCHEMA_MISMATCH),
    Case("schema_types", "other-values", Kind.WRONG_VALUE),
    Case("schema_types", "twice", Kind.EXTRA_CALL),
    Case("schema_nested", "nested-as-string", Kind.SCHEMA_MISMATCH),
    Case("schema_nested", "other-values", Kind.WRONG_VALUE),
    Case("schema_nested", "twice", Kind.EXTRA_CALL),
    Case("schema_union", "strings-only", Kind.WRONG_VALUE, trials=4),
    Case("schema_union", "other-values", Kind.WRONG_VALUE),
    Case("schema_union", "twice", Kind.EXTRA_CALL),
    Case("no_arguments", "no-argument-lost", Kind.NO_CALL),
    Case("no_arguments", "extra-argument", Kind.SCHEMA_MISMATCH),
    Case("no_arguments", "twice", Kind.EXTRA_CALL),
    Case("hostile_text", "cut-at-tag", Kind.WRONG_VALUE, trials=30),
    Case("hostile_text", "other-values", Kind.WRONG_VALUE),
    Case("hostile_text", "collapsed-space", Kind.WRONG_VALUE),
    Case("hostile_text", "escaped-html", Kind.WRONG_VALUE),
    Case("hostile_text", "twice", Kind.EXTRA_CALL),
    Case("round_trip", "other-values", Kind.WRONG_VALUE),
    Case("round_trip", "twice", Kind.EXTRA_CALL),
    Case("round_trip", "ignores-results", Kind.RESULT_UNUSED),
    Case("round_trip", "tool-role-ignored", Kind.RESULT_UNUSED),
    Case("round_trip", "tool-role-refused", Kind.ROLE_REFUSED),
    Case("round_trip", "refuses-closure", Kind.CLOSURE_MISSING),
    Case("round_trip", "refuses-replay", Kind.REPLAY_MISSING, vendor=THINKING),
    Case("parallel_mixed", "one-call", Kind.NO_CALL, "missing"),
    Case("parallel_mixed", "same-id", Kind.ID_REUSED),
    Case("parallel_mixed", "other-values", Kind.WRONG_VALUE),
    Case("parallel_mixed", "twice", Kind.EXTRA_CALL),
    Case("parallel_mixed", "refuses-closure", Kind.CLOSURE_MISSING),
    Case("parallel_same", "one-call", Kind.NO_CALL, "missing"),
    Case("parallel_same", "same-id", Kind.ID_REUSED),
    Case("parallel_same", "other-values", Kind.WRONG_VALUE),
    Case("parallel_same", "twice", Kind.EXTRA_CALL),
    Case("parallel_same", "refuses-closure", Kind.CLOSURE_MISSING),
    Case("parallel_off", "ignores-parallel-off", Kind.EXTRA_CALL),
    Case("parallel_off", "refuses-parallel-off", Kind.PARAM_UNKNOWN),
    Case("error_repair", "no-repair", Kind.NOT_REPAIRED),
    Case("error_repair", "slow-repair", Kind.NOT_REPAIRED),
    Case("error_repair", "gives-up", Kind.NOT_REPAIRED),
    Case("error_repair", "invalid-tool-loop", Kind.UNKNOWN_TOOL),
    Case("error_repair", "safe-at-once", Kind.WRONG_VALUE),
    Case("error_repair", "refuses-closure", Kind.CLOSURE_MISSING),
    Case("reasoning_replay", "refuses-replay", Kind.REPLAY_MISSING, vendor=THINKING),
    Case("reasoning_replay", "refuses-closure", Kind.CLOSURE_MISSING, vendor=THINKING),
    Case("reasoning_replay", "ignores-results", Kind.RESULT_UNUSED, vendor=THINKING),
    Case("streaming", "lost-tail", Kind.STREAM_DIFFERS),
    Case("streaming", "dropped-deltas", Kind.STREAM_DIFFERS),
    Case("streaming", "last-invoke-only", Kind.STREAM_DIFFERS),
    Case("streaming", "phantom-stream", Kind.STREAM_DIFFERS),
    Case("streaming", "stream-leak", Kind.LEAKED_CALL),
    Case("streaming", "stream-prose", Kind.NO_CALL),
    Case("streaming", "not-streamed", Kind.NOT_STREAMED),
    Case("streaming", "reordered-calls", Kind.WRONG_ORDER),
    Case("streaming", "stream-cut", Kind.BROKEN_OFF),
    Case("streaming", "refuses-streams", Kind.NO_TOOLS, "streaming"),
    Case("closure", "refuses-closure", Kind.CLOSURE_MISSING),
    Case("closure", "refuses-next-turn", Kind.CLOSURE_MISSING),
    Case("closure", "ignores-results", Kind.RESULT_UNUSED),
    Case("tool_choice", "prose", Kind.CHOICE_IGNORED, "'auto'"),
    Case("tool_choice", "calls-despite-none", Kind.CHOICE_IGNORED, "'none'"),
    Case("tool_choice", "ignores-choice", Kind.CHOICE_IGNORED, "'required'"),
    Case("tool_choice", "ignores-choice", Kind.CHOICE_IGNORED, "'named'"),
    Case("foreign_ids", "refuses-closure", Kind.CLOSURE_MISSING),
    Case("schema_enum_nested", "nested-enum", Kind.SCHEMA_MISMATCH, "unlisted"),
    Case("schema_enum_nested", "nested-as-string", Kind.SCHEMA_MISMATCH),
    Case("schema_enum_nested", "other-values", Kind.WRONG_VALUE),
    Case("schema_enum_nested", "twice", Kind.EXTRA_CALL),
    Case("schema_ref", "refuses-ref", Kind.SCHEMA_REFUSED),
    Case("schema_ref", "pattern-broken", Kind.SCHEMA_MISMATCH, "match"),
    Case("schema_ref", "nested-as-string", Kind.SCHEMA_MISMATCH),
    Case("schema_ref", "other-values", Kind.WRONG_VALUE),
    Case("schema_ref", "twice", Kind.EXTRA_CALL),
    Case("parallel_three", "one-call", Kind.NO_CALL, "missing"),
    Case("parallel_three", "two-calls", Kind.NO_CALL, "missing"),
    Case("parallel_three", "same-id", Kind.ID_REUSED),
    Case("parallel_three", "other-values", Kind.WRONG_VALUE),
    Case("parallel_three", "twice", Kind.EXTRA_CALL),
    Case("parallel_three", "refuses-closure", Kind.CLOSURE_MISSING),
    Case("parallel_five", "one-call", Kind.NO_CALL, "missing"),
    Case("parallel_five", "two-calls", Kind.NO_CALL, "missing"),
    Case("parallel_five", "same-id", Kind.ID_REUSED),
    Case("parallel_five", "other-values", Kind.WRONG_VALUE),
    Case("parallel_five", "twice", Kind.EXTRA_CALL),
    Case("parallel_five", "refuses-closure", Kind.CLOSURE_MISSING),
    Case("many_tools", "neighbour-tool", Kind.NO_CALL, "missing"),
    Case("many_tools", "neighbour-tool", Kind.EXTRA_CALL),
    Case("many_tools", "other-values", Kind.WRONG_VALUE),
    Case("many_tools", "twice", Kind.EXTRA_CALL),
    Case("long_argument", "cuts-long-text", Kind.WRONG_VALUE),
    Case("long_argument", "other-values", Kind.WRONG_VALUE),
    Case("long_argument", "twice", Kind.EXTRA_CALL),
    Case("chain", "other-values", Kind.WRONG_VALUE),
    Case("chain", "twice", Kind.EXTRA_CALL),
    Case("chain", "ignores-results", Kind.RESULT_UNUSED, "shelf"),
    Case("chain", "stops-after-result", Kind.NO_CALL, "prose"),
    Case("chain", "forgets-answer", Kind.RESULT_UNUSED, "The answer"),
    Case("chain", "refuses-closure", Kind.CLOSURE_MISSING),
    Case("chain", "refuses-replay", Kind.REPLAY_MISSING, vendor=THINKING),
    Case("late_system", "ignores-system", Kind.WRONG_VALUE),
    Case("prompted_tools", "ignores-prompted-tools", Kind.NO_CALL, "hermes"),
    Case("prompted_tools", "ignores-prompted-tools", Kind.NO_CALL, "json_text"),
    Case("prompted_tools", "other-values", Kind.WRONG_VALUE),
    Case("prompted_tools", "twice", Kind.EXTRA_CALL),
    Case("prompted_tools", "prompted-enum", Kind.SCHEMA_MISMATCH),
    Case("prompted_tools", "ignores-text-results", Kind.RESULT_UNUSED),
    Case("image_result", "other-values", Kind.WRONG_VALUE),
    Case("image_result", "twice", Kind.EXTRA_CALL),
    Case("image_result", "refuses-closure", Kind.CLOSURE_MISSING),
)


def _all_cases() -> Iterator[Case]:
    for name in (name for name in PROBES if name not in _WITHOUT_TOOLS):
        # An endpoint without tools fails them all.
        yield Case(name, "no-tools", Kind.NO_TOOLS)
    for name in _CALL_PROBES:
        for faults, finding, says in _CALL_FAULTS:
            yield Case(name, faults, finding, says)
    yield from _PROBE_CASES


CASES: tuple[Case, ...] = tuple(_all_cases())
