"""Calls as text in Python or in Gemma's notation: one writer per format."""

from __future__ import annotations

from collections.abc import Sequence

from probes.messages import JSON, ToolCall
from simulators.faults.text.json_writers import as_json, pythonic


def llama4(calls: Sequence[ToolCall]) -> str:
    return f"<|python_start|>{pythonic(calls)}<|python_end|>"


def lfm2(calls: Sequence[ToolCall]) -> str:
    return f"<|tool_call_start|>{pythonic(calls)}<|tool_call_end|>"


def olmo3(calls: Sequence[ToolCall]) -> str:
    return f"<function_calls>\n{_python_lines(calls)}\n</function_calls>"


def tool_code(calls: Sequence[ToolCall]) -> str:
    return f"```tool_code\n{_python_lines(calls)}\n```"


def gemma4(calls: Sequence[ToolCall]) -> str:
    quote = '<|"|>'
    return "".join(f"<|tool_call>{_gemma_call(call, quote)}<tool_call|>" for call in calls)


def functiongemma(calls: Sequence[ToolCall]) -> str:
    quote = "<escape>"
    return "".join(
        f"<start_function_call>{_gemma_call(call, quote)}<end_function_call>" for call in calls
    )


def _python_lines(calls: Sequence[ToolCall]) -> str:
    return "\n".join(pythonic([call]).removeprefix("[").removesuffix("]") for call in calls)


def _gemma_call(call: ToolCall, quote: str) -> str:
    return f"call:{call.name}{_gemma_value(dict(call.input), quote)}"


def _gemma_value(value: JSON, quote: str) -> str:
    match value:
        case str():
            return f"{quote}{value}{quote}"
        case dict():
            members = (f"{key}:{_gemma_value(item, quote)}" for key, item in value.items())
            return f"{{{','.join(members)}}}"
        case list():
            return f"[{','.join(_gemma_value(item, quote) for item in value)}]"
        case _:
            return as_json(value)
