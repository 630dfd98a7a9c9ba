"""The differences of a vendor on top of a wire format, as data.

A dialect is the initial assumption. `override_dialect` replaces it field by field with measured
values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from probes.error_table import ErrorPattern
from probes.errors import TargetError
from probes.messages import JSON, ReasoningKind


class ReplayRule(StrEnum):
    """Which reasoning is replayed to the endpoint that produced it."""

    NONE = "none"
    SAME_TURN = "same_turn"  # since the last user turn
    ALL_TURNS = "all_turns"
    SIGNATURE = "signature"  # signed blocks, whole and unchanged, to their issuer only
    ITEM_PAIR = "item_pair"  # a reasoning item only with the item it belongs to
    BEHAVIOURAL = "behavioural"  # nothing is refused; the model is worse without it


class ReasoningDue(StrEnum):
    """Which assistant turns are refused if their reasoning is missing."""

    NOWHERE = "nowhere"
    CALLS = "calls"  # those with calls
    TURNS = "turns"  # all that the replay rule covers


class StrictSupport(StrEnum):
    """Where tools may be declared strict."""

    UNKNOWN = "unknown"
    TOOL = "tool"
    BETA = "beta"  # where the base URL ends in /beta only
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class ThinkingSwitch:
    """The request fields that switch thinking. `off` None: this vendor always thinks."""

    on: Mapping[str, JSON] = field(default_factory=dict)
    off: Mapping[str, JSON] | None = field(default_factory=dict)
    by_default: bool = False


# The kinds of reasoning that a format can write in a history.
FORMAT_KINDS: Mapping[str, frozenset[ReasoningKind]] = {
    "openai": frozenset({ReasoningKind.FIELD, ReasoningKind.DETAILS, ReasoningKind.TAGS}),
    "openai_responses": frozenset({ReasoningKind.ITEM, ReasoningKind.TAGS}),
    "anthropic": frozenset({ReasoningKind.BLOCK}),
    "gemini": frozenset({ReasoningKind.THOUGHT}),
    "ollama": frozenset({ReasoningKind.FIELD, ReasoningKind.TAGS}),
}
EVERY_CHOICE = frozenset({"auto", "none", "required", "named"})
UNFORCED = frozenset({"auto", "none"})
DEVELOPER_AS_SYSTEM: Mapping[str, str] = {"developer": "system"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """One vendor's differences. The defaults are for an unknown endpoint."""

    name: str
    replay: ReplayRule
    format: str = "openai"
    # Reasoning: the kinds that this vendor accepts back, and the name of a text field.
    carries: frozenset[ReasoningKind] = frozenset({ReasoningKind.FIELD, ReasoningKind.TAGS})
    reasoning_field: str | None = None  # None: the name it was received with
    block_to_field: bool = False  # send the text of a thinking block as a field
    replay_needs_tools: bool = False  # all_turns applies only with tools, else same_turn
    reasoning_due: ReasoningDue = ReasoningDue.NOWHERE
    prefix_bound: bool = False  # a signature covers everything before it
    sentinel: str = ""  # the documented signature for calls made elsewhere
    # The question.
    id_rule: str = "any"
    thinking: ThinkingSwitch = field(default_factory=ThinkingSwitch)
    choices: frozenset[str] = EVERY_CHOICE
    choices_thinking: frozenset[str] = EVERY_CHOICE
    parallel_switch: bool | None = None
    strict: StrictSupport = StrictSupport.UNKNOWN
    empty_schema: bool = True  # a tool without parameters is sent with an empty object schema
    functions_only: bool = True
    roles: Mapping[str, str] = field(default_factory=lambda: dict(DEVELOPER_AS_SYSTEM))
    limit_field: str = ""  # the name of the token limit, if not the format's
    efforts: Mapping[str, str | None] = field(default_factory=dict)  # None: omitted
    takes_effort: bool = True  # a client of another format can choose the effort
    bridge_after_tool: bool = False  # only an assistant turn may follow a result
    results_in_call_order: bool = False
    blank_text: bool = True  # blank text is accepted
    # Fields to send with every question, with tools, and with tools in a stream.
    extras: Mapping[str, JSON] = field(default_factory=dict)
    tool_extras: Mapping[str, JSON] = field(default_factory=dict)
    stream_extras: Mapping[str, JSON] = field(default_factory=dict)
    # The answer.
    errors: tuple[ErrorPattern, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def carried_kinds(self) -> frozenset[ReasoningKind]:
        """The kinds of reasoning that the vendor accepts back and its format can write."""
        return self.carries & FORMAT_KINDS[self.format]

    @property
    def forced_choice_with_thinking(self) -> bool:
        return bool(self.choices_thinking - UNFORCED)


def at_base_url(dialect: Dialect, base_url: str) -> Dialect:
    """The dialect at a base URL: the beta address of a vendor takes strict tools."""
    is_beta = urlsplit(base_url).path.rstrip("/").endswith("/beta")
    if dialect.strict is StrictSupport.BETA and is_beta:
        return replace(dialect, strict=StrictSupport.TOOL)
    return dialect


def override_dialect(dialect: Dialect, measured: Mapping[str, Any]) -> Dialect:
    """The dialect with measured values instead of assumed ones.

    Keys are fields of a dialect or of a capability profile; others are ignored. An unknown value
    ("unknown", None) changes nothing.
    """
    known = {item.name for item in fields(Dialect)} - {"name", "format", "errors", "notes"}
    changes: dict[str, Any] = {}
    for key, value in measured.items():
        if key in _CAPABILITIES:
            changes |= _CAPABILITIES[key](value)
        elif key in known:
            changes[key] = _convert(key, value)
    return replace(dialect, **changes)


def _convert(key: str, value: Any) -> Any:
    read = _READERS.get(key)
    try:
        return value if read is None else read(value)
    except (TypeError, ValueError) as exc:
        raise TargetError(f"{value!r} is no value for {key!r} of a dialect.") from exc


def _replay(value: Any) -> dict[str, Any]:
    rules = {
        "required_same_turn": ReplayRule.SAME_TURN,
        "required_all_turns": ReplayRule.ALL_TURNS,
        "rejected": ReplayRule.NONE,
    }
    if value not in rules:
        return {}
    measured = {"replay": rules[value], "replay_needs_tools": False}
    if value == "rejected":
        return measured
    # A measured rule applies with or without tools, and to whatever reasoning the endpoint shows,
    # also if a client of another format returns it in its own form.
    return {**measured, "carries": frozenset(ReasoningKind), "block_to_field": True}


def _choices(value: Any) -> dict[str, Any]:
    if not isinstance(value, list | tuple | set | frozenset):
        return {}
    measured = frozenset(map(str, value)) & EVERY_CHOICE
    return {"choices": measured, "choices_thinking": measured}


_CAPABILITIES: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "reasoning_replay": _replay,
    "tool_choice": _choices,
}
_READERS: Mapping[str, Callable[[Any], Any]] = {
    "replay": ReplayRule,
    "strict": StrictSupport,
    "reasoning_due": ReasoningDue,
    "carries": lambda kinds: frozenset(map(ReasoningKind, kinds)),
    "choices": frozenset,
    "choices_thinking": frozenset,
    "thinking": lambda value: (
        value if isinstance(value, ThinkingSwitch) else ThinkingSwitch(**value)
    ),
}
