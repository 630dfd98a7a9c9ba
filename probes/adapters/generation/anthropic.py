"""The options of a generation in Anthropic's words."""

from __future__ import annotations

from collections.abc import Mapping

from probes.adapters.generation.options import (
    Option,
    OptionTable,
    Values,
    number_option,
    stop_option,
    unlabelled,
    user_option,
)
from probes.messages import JSON, JSONOutput, Thinking, ThinkingMode

MIN_BUDGET = 1024
EFFORTS = ("low", "medium", "high", "xhigh", "max")
MODES = {
    "disabled": ThinkingMode.OFF,
    "enabled": ThinkingMode.ON,
    "adaptive": ThinkingMode.ADAPTIVE,
}


def _read_thinking(thinking: JSON, effort: JSON) -> Thinking | None:
    word = effort if isinstance(effort, str) else ""
    match thinking:
        case {"type": str(type_), **more} if type_ in MODES:
            budget = more.get("budget_tokens")
            return Thinking(MODES[type_], word, budget if isinstance(budget, int) else None)
        case None:
            # The model thinks as it would without the field.
            return Thinking(ThinkingMode.ADAPTIVE, word) if word else None
        case _:
            return None


def _write_thinking(thinking: Thinking) -> Values:
    effort: JSON = thinking.effort if thinking.effort in EFFORTS else None
    match thinking:
        case Thinking(mode=ThinkingMode.OFF):
            return {"type": "disabled"}, effort
        case Thinking(mode=ThinkingMode.ON, budget=int(budget)):
            return {"type": "enabled", "budget_tokens": max(budget, MIN_BUDGET)}, effort
        case _:
            # A budget is required for `enabled`, and newer models refuse it.
            return {"type": "adaptive"}, "low" if thinking.effort == "minimal" else effort


def _changed_thinking(thinking: Thinking) -> str:
    if thinking.effort in ("", *EFFORTS):
        return ""
    return f"There is no effort {thinking.effort!r}."


def _read_output(value: JSON) -> JSONOutput | None:
    match value:
        case {"type": "json_schema", "schema": Mapping() as schema}:
            return JSONOutput(schema)
        case _:
            return None


def _write_output(output: JSONOutput) -> Values | None:
    # The format has no JSON without a schema, and its schemas are always strict.
    if output.schema is None:
        return None
    return ({"type": "json_schema", "schema": output.schema},)


OPTIONS = OptionTable(
    number_option("temperature", "temperature", most=1),
    number_option("top_p", "top_p"),
    number_option("top_k", "top_k"),
    stop_option("stop_sequences"),
    Option(
        "thinking",
        ("thinking", "output_config.effort"),
        _read_thinking,
        _write_thinking,
        _changed_thinking,
    ),
    Option("output", ("output_config.format",), _read_output, _write_output, unlabelled),
    user_option("user", "metadata.user_id"),
)
