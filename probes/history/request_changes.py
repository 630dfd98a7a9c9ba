"""The changes made to a request before it was sent, as data: no change is unreported."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from probes.messages import JSON


class ChangeKind(StrEnum):
    """Every kind of change to a history or a question before it is sent."""

    # The history, so that every call has its result.
    MERGED_TURNS = "merged_turns"
    BROKEN_CALL_CLOSED = "broken_call_closed"
    BROKEN_CALL_AS_TEXT = "broken_call_as_text"
    RESULT_SYNTHESISED = "result_synthesised"
    RESULT_MOVED = "result_moved"
    ORPHAN_DROPPED = "orphan_dropped"
    DUPLICATE_DROPPED = "duplicate_dropped"
    # The history, so that it fits.
    TURNS_TRIMMED = "turns_trimmed"
    OVER_BUDGET = "over_budget"
    # System text, where it works.
    SYSTEM_MOVED = "system_moved"
    SYSTEM_MERGED = "system_merged"
    # Reasoning, under the replay rule.
    REASONING_RENAMED = "reasoning_renamed"
    REASONING_CONVERTED = "reasoning_converted"
    SIGNATURE_SENTINEL = "signature_sentinel"
    ITEM_ID_STRIPPED = "item_id_stripped"
    # The question, under the dialect.
    IDS_MAPPED = "ids_mapped"
    ARGUMENTS_FILLED = "arguments_filled"
    BLANK_TEXT_DROPPED = "blank_text_dropped"
    BRIDGE_INSERTED = "bridge_inserted"
    ROLE_MAPPED = "role_mapped"
    RESULTS_REORDERED = "results_reordered"
    TOOL_CHOICE_DROPPED = "tool_choice_dropped"
    TOOLS_WITHHELD = "tools_withheld"
    TOOL_DROPPED = "tool_dropped"
    PARALLEL_DROPPED = "parallel_dropped"
    STRICT_DROPPED = "strict_dropped"
    SCHEMA_FILLED = "schema_filled"
    EFFORT_MAPPED = "effort_mapped"
    OPTION_ADDED = "option_added"
    THINKING_OFF = "thinking_off"
    THINKING_UNAVAILABLE = "thinking_unavailable"


@dataclass(frozen=True, slots=True)
class Change:
    """One change; `path` is a JSON path to it."""

    kind: ChangeKind
    message: str
    path: str = ""

    def as_json(self) -> dict[str, JSON]:
        return {"kind": str(self.kind), "message": self.message, "path": self.path}
