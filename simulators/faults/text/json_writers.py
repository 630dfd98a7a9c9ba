"""Calls as text whose arguments are JSON or Python literals: one writer per format."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from probes.messages import JSON, ToolCall

Writer: TypeAlias = Callable[[Sequence[ToolCall]], str]


def hermes(calls: Sequence[ToolCall]) -> str:
    return "\n".join(
        f"<tool_call>\n{_name_and_input(call, 'arguments')}\n</tool_call>" for call in calls
    )


def name_arguments(calls: Sequence[ToolCall]) -> str:
    return "\n".join(
        f"<tool_call><name>{call.name}</name><arguments>{as_json(call.input)}</arguments>"
        "</tool_call>"
        for call in calls
    )


def deepseek_v3(calls: Sequence[ToolCall]) -> str:
    return _deepseek(
        f"function<｜tool▁sep｜>{call.name}\n```json\n{as_json(call.input)}\n```" for call in calls
    )


def deepseek_v31(calls: Sequence[ToolCall]) -> str:
    return _deepseek(f"{call.name}<｜tool▁sep｜>{as_json(call.input)}" for call in calls)


def kimi_k2(calls: Sequence[ToolCall]) -> str:
    written = "".join(
        f"<|tool_call_begin|>functions.{call.name}:{place}<|tool_call_argument_begin|>"
        f"{as_json(call.input)}<|tool_call_end|>"
        for place, call in enumerate(calls)
    )
    return f"<|tool_calls_section_begin|>{written}<|tool_calls_section_end|>"


def harmony(calls: Sequence[ToolCall]) -> str:
    # The prompt ends with the first start token.
    return "<|start|>assistant".join(
        f"<|channel|>commentary to=functions.{call.name} <|constrain|>json<|message|>"
        f"{as_json(call.input)}<|call|>"
        for call in calls
    )


def mistral(calls: Sequence[ToolCall]) -> str:
    return "".join(f"[TOOL_CALLS]{call.name}[ARGS]{as_json(call.input)}" for call in calls)


def llama_function(calls: Sequence[ToolCall]) -> str:
    return "\n".join(f"<function={call.name}>{as_json(call.input)}</function>" for call in calls)


def llama_json(calls: Sequence[ToolCall]) -> str:
    return "<|python_tag|>" + "; ".join(_name_and_input(call, "parameters") for call in calls)


def pythonic(calls: Sequence[ToolCall]) -> str:
    def write_call(call: ToolCall) -> str:
        # A value parsed from JSON is written as its Python repr.
        arguments = (f"{key}={value!r}" for key, value in call.input.items())
        return f"{call.name}({', '.join(arguments)})"

    return f"[{', '.join(map(write_call, calls))}]"


def json_text(calls: Sequence[ToolCall]) -> str:
    named = [_name_and_input(call, "arguments") for call in calls]
    body = named[0] if len(named) == 1 else f"[{', '.join(named)}]"
    return f"```json\n{body}\n```"


def phi4_mini(calls: Sequence[ToolCall]) -> str:
    return f"functools{_listed(calls)}"


def granite3(calls: Sequence[ToolCall]) -> str:
    return f"<|tool_call|>{_listed(calls)}"


def cohere(calls: Sequence[ToolCall]) -> str:
    actions = ",\n".join(
        f'    {{"tool_call_id": "{place}", "tool_name": "{call.name}", '
        f'"parameters": {as_json(call.input)}}}'
        for place, call in enumerate(calls)
    )
    return f"<|START_ACTION|>[\n{actions}\n]<|END_ACTION|>"


def command_r(calls: Sequence[ToolCall]) -> str:
    actions = ",\n".join(
        f"    {as_json({'tool_name': call.name, 'parameters': call.input})}" for call in calls
    )
    return f"Action: ```json\n[\n{actions}\n]\n```"


def tool_calls(calls: Sequence[ToolCall]) -> str:
    return f"<tool_calls>{_listed(calls)}</tool_calls>"


def nemotron(calls: Sequence[ToolCall]) -> str:
    return f"<TOOLCALL>{_listed(calls)}</TOOLCALL>"


def longcat(calls: Sequence[ToolCall]) -> str:
    return "".join(
        f"<longcat_tool_call>\n{_name_and_input(call, 'arguments')}\n</longcat_tool_call>"
        for call in calls
    )


def internlm(calls: Sequence[ToolCall]) -> str:
    return "".join(
        f"<|action_start|><|plugin|>\n{_name_and_input(call, 'parameters')}<|action_end|>"
        for call in calls
    )


def apertus(calls: Sequence[ToolCall]) -> str:
    named = ", ".join(as_json({call.name: call.input}) for call in calls)
    return f"<|tools_prefix|>[{named}]<|tools_suffix|>"


def xlam(calls: Sequence[ToolCall]) -> str:
    return f'{{"tool_calls": {_listed(calls)}}}'


def inkling(calls: Sequence[ToolCall]) -> str:
    # The prompt ends with the first message token.
    return "<|message_model|>".join(
        f"{call.name}<|content_invoke_tool_json|>{_name_and_input(call, 'args')}<|end_message|>"
        for call in calls
    )


def gigachat3(calls: Sequence[ToolCall]) -> str:
    return "".join(f"<|function_call|>{_name_and_input(call, 'arguments')}" for call in calls)


def solar_open(calls: Sequence[ToolCall]) -> str:
    written = "".join(
        f"<|tool_call:begin|>{place:010}<|tool_call:name|>{call.name}"
        f"<|tool_call:args|>{as_json(call.input)}<|tool_call:end|>"
        for place, call in enumerate(calls)
    )
    return f"<|tool_calls|>{written}<|calls|>"


def functionary(calls: Sequence[ToolCall]) -> str:
    # The prompt ends with the first mark.
    return ">>>".join(f"{call.name}\n{as_json(call.input)}" for call in calls)


def qwen_agent(calls: Sequence[ToolCall]) -> str:
    return "\n".join(f"✿FUNCTION✿: {call.name}\n✿ARGS✿: {as_json(call.input)}" for call in calls)


def react(calls: Sequence[ToolCall]) -> str:
    return "\n".join(f"Action: {call.name}\nAction Input: {as_json(call.input)}" for call in calls)


def as_json(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False)


def _name_and_input(call: ToolCall, key: str) -> str:
    return as_json({"name": call.name, key: call.input})


def _listed(calls: Sequence[ToolCall]) -> str:
    return f"[{', '.join(_name_and_input(call, 'arguments') for call in calls)}]"


def _deepseek(calls: Iterable[str]) -> str:
    written = "\n".join(f"<｜tool▁call▁begin｜>{call}<｜tool▁call▁end｜>" for call in calls)
    return f"<｜tool▁calls▁begin｜>{written}<｜tool▁calls▁end｜>"
