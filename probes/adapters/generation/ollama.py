"""The options of a generation in Ollama's words."""

from __future__ import annotations

from collections.abc import Mapping

from probes.adapters.generation.options import (
    Option,
    OptionTable,
    Values,
    number_option,
    stop_option,
    unlabelled,
)
from probes.messages import JSON, JSONOutput, Thinking, ThinkingMode

LEVELS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high"} | dict.fromkeys(
    ("xhigh", "max"), "high"
)


def _read_thinking(think: JSON) -> Thinking | None:
    match think:
        case bool():
            return Thinking(ThinkingMode.ON if think else ThinkingMode.OFF)
        case str():
            return Thinking(ThinkingMode.ON, think)
        case _:
            return None


def _write_thinking(thinking: Thinking) -> Values:
    if thinking.mode is ThinkingMode.OFF:
        return (False,)
    is_default = thinking.mode is ThinkingMode.ADAPTIVE
    return (LEVELS.get(thinking.effort, None if is_default else True),)


def _changed_thinking(thinking: Thinking) -> str:
    if thinking.mode is ThinkingMode.OFF:
        return ""
    if thinking.budget is not None:
        return "There is no budget of tokens for thinking."
    same = LEVELS.get(thinking.effort, "") == thinking.effort
    return "" if same else f"There is no effort {thinking.effort!r}."


def _read_output(value: JSON) -> JSONOutput | None:
    match value:
        case "json":
            return JSONOutput()
        case Mapping():
            return JSONOutput(value)
        case _:
            return None


OPTIONS = OptionTable(
    number_option("temperature", "options.temperature"),
    number_option("top_p", "options.top_p"),
    number_option("top_k", "options.top_k"),
    number_option("seed", "options.seed"),
    number_option("presence_penalty", "options.presence_penalty"),
    number_option("frequency_penalty", "options.frequency_penalty"),
    stop_option("options.stop"),
    Option("thinking", ("think",), _read_thinking, _write_thinking, _changed_thinking),
    Option(
        "output",
        ("format",),
        _read_output,
        lambda output: ("json" if output.schema is None else output.schema,),
        unlabelled,
    ),
)
