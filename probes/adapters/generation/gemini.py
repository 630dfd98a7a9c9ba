"""The options of a generation in Gemini's words."""

from __future__ import annotations

from collections.abc import Mapping

from probes.adapters.generation.options import (
    DEFAULT,
    EFFORT_BUDGETS,
    Option,
    OptionTable,
    Values,
    number_option,
    stop_option,
    unlabelled,
)
from probes.messages import JSON, JSONOutput, Thinking, ThinkingMode
from probes.schemas.gemini import json_schema

CONFIG = "generationConfig"
JSON_TYPE = "application/json"
NO_BUDGET, ANY_BUDGET = 0, -1


def _read_thinking(shows: JSON, budget: JSON, level: JSON) -> Thinking | str | None:
    if isinstance(level, str):
        return Thinking(ThinkingMode.ON, level.lower())
    match budget:
        case None:
            # To show thoughts or not does not say how much to think.
            return DEFAULT if isinstance(shows, bool) else None
        case int() if budget == NO_BUDGET:
            return Thinking(ThinkingMode.OFF)
        case int() if budget == ANY_BUDGET:
            return Thinking(ThinkingMode.ADAPTIVE)
        case int():
            return Thinking(ThinkingMode.ON, budget=budget)
        case _:
            return None


def _write_thinking(thinking: Thinking) -> Values:
    """A budget, which the older models know and the newer ones accept."""
    if thinking.mode is ThinkingMode.OFF:
        return None, NO_BUDGET, None
    if thinking == Thinking(ThinkingMode.ADAPTIVE):
        return None, None, None
    budget = thinking.budget or EFFORT_BUDGETS.get(thinking.effort, ANY_BUDGET)
    return True, budget, None


def _changed_thinking(thinking: Thinking) -> str:
    if thinking.mode is ThinkingMode.OFF or not thinking.effort:
        return ""
    _, budget, _ = _write_thinking(thinking)
    return f"The effort {thinking.effort!r} becomes a budget of {budget} tokens."


def _read_output(type_: JSON, schema: JSON, json_schema_: JSON) -> JSONOutput | str | None:
    found = json_schema_ if isinstance(json_schema_, Mapping) else schema
    if isinstance(found, Mapping):
        # Clients write the vendor's upper-case types into both fields.
        return JSONOutput(json_schema(found))
    match type_:
        case "application/json":
            return JSONOutput()
        case "text/plain":
            return DEFAULT
        case _:
            return None


def _write_output(output: JSONOutput) -> Values:
    return JSON_TYPE, None, output.schema


OPTIONS = OptionTable(
    number_option("temperature", f"{CONFIG}.temperature"),
    number_option("top_p", f"{CONFIG}.topP"),
    number_option("top_k", f"{CONFIG}.topK"),
    number_option("seed", f"{CONFIG}.seed"),
    number_option("presence_penalty", f"{CONFIG}.presencePenalty"),
    number_option("frequency_penalty", f"{CONFIG}.frequencyPenalty"),
    stop_option(f"{CONFIG}.stopSequences"),
    Option(
        "thinking",
        (
            f"{CONFIG}.thinkingConfig.includeThoughts",
            f"{CONFIG}.thinkingConfig.thinkingBudget",
            f"{CONFIG}.thinkingConfig.thinkingLevel",
        ),
        _read_thinking,
        _write_thinking,
        _changed_thinking,
    ),
    Option(
        "output",
        (
            f"{CONFIG}.responseMimeType",
            f"{CONFIG}.responseSchema",
            f"{CONFIG}.responseJsonSchema",
        ),
        _read_output,
        _write_output,
        unlabelled,
    ),
)
