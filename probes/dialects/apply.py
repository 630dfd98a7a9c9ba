"""Applies a dialect to a question: rewrites what this vendor would refuse or misread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from probes.adapters.generation import OPTIONS
from probes.adapters.generation.options import read_generation
from probes.dialects.base import EVERY_CHOICE, Dialect, StrictSupport
from probes.dialects.request_fields import (
    client_enables,
    contains_fields,
    has_field,
    is_enabled,
    without_fields,
)
from probes.dialects.turn_rules import (
    bridge_turns,
    drop_blank_text,
    fill_empty_arguments,
    order_results,
    rename_roles,
    separate_results,
)
from probes.history.request_changes import Change, ChangeKind
from probes.messages import JSON, Generation, ModelCall, Thinking, ThinkingMode, ToolSpec
from probes.tool_name_map import as_functions

EMPTY_SCHEMA: Mapping[str, JSON] = {"type": "object", "properties": {}}
EFFORT = "reasoning_effort"
CHOICE = "tool_choice"


@dataclass(frozen=True, slots=True)
class AppliedDialect:
    """The question in a form that the vendor accepts, and every change."""

    call: ModelCall
    changes: tuple[Change, ...]


def apply_dialect(
    call: ModelCall, dialect: Dialect, *, thinking: bool | None = None
) -> AppliedDialect:
    """Rewrite the question within a vendor's limits. `thinking` None keeps it as requested.

    Fields set by the operator or the client override those that the dialect would add.
    """
    rewriter = _CallRewriter(call, dialect)
    rewriter.switch_thinking(thinking)
    for step in _STEPS:
        step(rewriter)
    return AppliedDialect(rewriter.call, tuple(rewriter.changes))


def is_thinking(call: ModelCall, dialect: Dialect) -> bool:
    """Whether the model will think on this question, according to the request."""
    thinking = dialect.thinking
    if thinking.off is None:
        return True
    if thinking.off and contains_fields(call, dialect.format, thinking.off):
        return False
    if (asked := call.generation.thinking) is not None:
        return asked.mode is not ThinkingMode.OFF
    # Every value but the one for off enables thinking: a budget, an effort, a level.
    enabled = any(is_enabled(call, dialect.format, key) for key in thinking.on)
    return thinking.by_default or enabled


@dataclass
class _CallRewriter:
    call: ModelCall
    dialect: Dialect
    changes: list[Change] = field(default_factory=list)

    def change(self, kind: ChangeKind, message: str, path: str) -> None:
        self.changes.append(Change(kind, message, path))

    def switch_thinking(self, enabled: bool | None) -> None:
        if enabled is None:
            return
        fields = self.dialect.thinking.on if enabled else self.dialect.thinking.off
        if fields is None:
            message = f"{self.dialect.name!r} cannot answer without thinking."
            self.change(ChangeKind.THINKING_UNAVAILABLE, message, "$.options")
            return
        # The client's fields would otherwise override the switch.
        extra = {form: without_fields(sent, *fields) for form, sent in self.call.extra.items()}
        options = {**self.call.options, **_merge_fields(self.call.options, fields)}
        generation = _switched(self.call.generation, fields, enabled=enabled)
        switched = replace(self.call, options=options, extra=extra, generation=generation)
        if switched != self.call:
            self.call = switched
            message = f"Thinking is switched {'on' if enabled else 'off'}."
            self.change(ChangeKind.OPTION_ADDED, message, "$.options")

    def carry_thinking(self) -> None:
        """Write what a client of another format asked for with the vendor's own switch."""
        thinking, dialect = self.call.generation.thinking, self.dialect
        if thinking is None or self.asks_in_own_words(thinking):
            return
        if thinking.mode is not ThinkingMode.ADAPTIVE:
            enabled = thinking.mode is ThinkingMode.ON
            switch = dialect.thinking.on if enabled else dialect.thinking.off
            if switch != {} and not any(key in self.call.options for key in switch or ()):
                self.switch_thinking(enabled)
            if switch is None:
                self.set_thinking(None)
        thinking = self.call.generation.thinking
        if thinking is not None and thinking.effort and not dialect.takes_effort:
            self.set_thinking(replace(thinking, effort="", budget=None))
            message = f"{dialect.name!r} takes no effort."
            self.change(ChangeKind.EFFORT_MAPPED, message, "$.generation.thinking.effort")

    def asks_in_own_words(self, thinking: Thinking) -> bool:
        """Whether the client speaks the vendor's format: then its fields are sent unchanged."""
        own = self.call.extra.get(self.dialect.format)
        return (
            isinstance(own, Mapping)
            and read_generation(OPTIONS[self.dialect.format], own).thinking == thinking
        )

    def set_thinking(self, thinking: Thinking | None) -> None:
        self.call = replace(self.call, generation=replace(self.call.generation, thinking=thinking))

    def limit_choice(self) -> None:
        choice = self.call.tool_choice
        if choice is None and not client_enables(self.call, CHOICE):
            return
        thinks = is_thinking(self.call, self.dialect)
        allowed = self.dialect.choices_thinking if thinks else self.dialect.choices
        # A choice that only the client's format can express may force a call.
        if choice.mode in allowed if choice else allowed == EVERY_CHOICE:
            return
        extra = {form: without_fields(sent, CHOICE) for form, sent in self.call.extra.items()}
        self.call = replace(self.call, tool_choice=None, extra=extra)
        mode = choice.mode if choice else "of the client"
        why = " while it thinks" if thinks and mode in self.dialect.choices else ""
        message = f"{self.dialect.name!r} takes no tool_choice {mode!r}{why}."
        self.change(ChangeKind.TOOL_CHOICE_DROPPED, message, "$.tool_choice")
        if mode == "none" and self.call.tools:
            self.call = replace(self.call, tools=())
            message = "Without a way to forbid calls the tools are not offered."
            self.change(ChangeKind.TOOLS_WITHHELD, message, "$.tools")

    def limit_parallel(self) -> None:
        switchable = self.dialect.parallel_switch is not False
        if self.call.parallel is None or (switchable and _offers_tools(self.call)):
            return
        self.call = replace(self.call, parallel=None)
        message = f"{self.dialect.name!r} has no switch for parallel calls."
        if switchable:
            message = "Without tools there is nothing to switch, and the switch is refused."
        self.change(ChangeKind.PARALLEL_DROPPED, message, "$.parallel")

    def limit_tools(self) -> None:
        tools = tuple(
            self.rewrite_tool(spec, f"$.tools[{i}]") for i, spec in enumerate(self.call.tools)
        )
        if tools != self.call.tools:
            self.call = replace(self.call, tools=tools)
        if self.dialect.functions_only:
            self.drop_other_tools()

    def rewrite_tool(self, spec: ToolSpec, path: str) -> ToolSpec:
        if not spec.schema and self.dialect.empty_schema:
            spec = replace(spec, schema=EMPTY_SCHEMA)
            message = f"The tool {spec.name!r} is sent with an empty object schema."
            self.change(ChangeKind.SCHEMA_FILLED, message, f"{path}.schema")
        if spec.strict is not None and self.dialect.strict in (
            StrictSupport.NEVER,
            StrictSupport.BETA,
        ):
            spec = replace(spec, strict=None)
            message = f"The tool {spec.name!r} cannot be strict here."
            self.change(ChangeKind.STRICT_DROPPED, message, f"{path}.strict")
        return spec

    def drop_other_tools(self) -> None:
        for index, tool in enumerate(self.call.vendor_tools):
            message = f"{self.dialect.name!r} takes functions only; {tool.name!r} is left out."
            self.change(ChangeKind.TOOL_DROPPED, message, f"$.vendor_tools[{index}]")
        self.call = as_functions(replace(self.call, vendor_tools=()))

    def map_effort(self) -> None:
        options = self.rewrite_effort(self.call.options, "$.options")
        # The client's value would otherwise be sent unchanged.
        extra = {
            form: self.rewrite_effort(sent, f"$.extra.{form}")
            if isinstance(sent, Mapping)
            else sent
            for form, sent in self.call.extra.items()
        }
        if (options, extra) != (self.call.options, self.call.extra):
            self.call = replace(self.call, options=options, extra=extra)
        self.map_generation_effort()

    def map_generation_effort(self) -> None:
        thinking = self.call.generation.thinking
        if thinking is None or thinking.effort not in self.dialect.efforts:
            return
        mapped = self.dialect.efforts[thinking.effort] or ""
        if not self.asks_in_own_words(thinking):
            message = f"The effort {thinking.effort!r} is {mapped or 'left out'!r} here."
            self.change(ChangeKind.EFFORT_MAPPED, message, "$.generation.thinking.effort")
        self.set_thinking(replace(thinking, effort=mapped))

    def rewrite_effort(self, sent: Mapping[str, JSON], path: str) -> Mapping[str, JSON]:
        effort = sent.get(EFFORT)
        if not isinstance(effort, str) or effort not in self.dialect.efforts:
            return sent
        options = {key: value for key, value in sent.items() if key != EFFORT}
        mapped = self.dialect.efforts[effort]
        if mapped is not None:
            options[EFFORT] = mapped
        message = f"The effort {effort!r} is {'left out' if mapped is None else repr(mapped)} here."
        self.change(ChangeKind.EFFORT_MAPPED, message, f"{path}.{EFFORT}")
        return options

    def name_limit(self) -> None:
        name, limit = self.dialect.limit_field, self.call.max_tokens
        if name and limit is not None and not has_field(self.call, self.dialect.format, name):
            self.call = replace(self.call, options={**self.call.options, name: limit})
            message = f"The token limit is called {name!r} here."
            self.change(ChangeKind.OPTION_ADDED, message, f"$.options.{name}")

    def add_extras(self) -> None:
        for key, value in self.extras().items():
            sent = self.call.options.get(key)
            if isinstance(sent, Mapping) and isinstance(value, Mapping):
                added: JSON = {**value, **sent}
            else:
                added = sent if has_field(self.call, self.dialect.format, key) else value
            if added != sent:
                self.call = replace(self.call, options={**self.call.options, key: added})
                why = "" if key in self.dialect.extras else " for tools"
                message = f"{self.dialect.name!r} needs the field {key!r}{why}."
                self.change(ChangeKind.OPTION_ADDED, message, f"$.options.{key}")

    def extras(self) -> dict[str, JSON]:
        extras = dict(self.dialect.extras)
        if self.call.tools:
            extras |= self.dialect.tool_extras
            extras |= self.dialect.stream_extras if self.call.stream else {}
        return extras

    def arrange_turns(self) -> None:
        turns = fill_empty_arguments(separate_results(self.call.turns), self.changes)
        turns = rename_roles(turns, self.dialect.roles, self.changes)
        if not self.dialect.blank_text:
            turns = drop_blank_text(turns, self.changes)
        if self.dialect.results_in_call_order:
            turns = order_results(turns, self.changes)
        if self.dialect.bridge_after_tool:
            turns = bridge_turns(turns, self.changes)
        if tuple(turns) != self.call.turns:
            self.call = replace(self.call, turns=tuple(turns))


_STEPS: tuple[Callable[[_CallRewriter], None], ...] = (
    _CallRewriter.carry_thinking,
    _CallRewriter.map_effort,
    _CallRewriter.limit_choice,
    _CallRewriter.limit_parallel,
    _CallRewriter.limit_tools,
    _CallRewriter.name_limit,
    _CallRewriter.add_extras,
    _CallRewriter.arrange_turns,
)


def _switched(generation: Generation, fields: Mapping[str, JSON], *, enabled: bool) -> Generation:
    """The generation beside a switch that says the same in the vendor's own fields."""
    thinking = generation.thinking
    if thinking is None:
        return generation
    if enabled:
        return replace(generation, thinking=replace(thinking, mode=ThinkingMode.ON))
    off = None if fields else Thinking(ThinkingMode.OFF)
    return replace(generation, thinking=off)


def _offers_tools(call: ModelCall) -> bool:
    return bool(call.tools or call.vendor_tools)


def _merge_fields(sent: Mapping[str, JSON], fields: Mapping[str, JSON]) -> dict[str, JSON]:
    """The fields merged with those already set; an object with a type is replaced as a whole."""
    merged = dict(fields)
    for key, value in fields.items():
        before = sent.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping) and "type" not in value:
            merged[key] = {**before, **value}
    return merged
