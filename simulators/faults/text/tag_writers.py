"""Calls as text with one tag per argument: one writer per format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from probes.messages import JSON, ToolCall
from simulators.faults.text.json_writers import as_json

M3 = "]<]minimax[>["


def dsml(calls: Sequence[ToolCall]) -> str:
    return f"\n\n<｜DSML｜tool_calls>\n{dsml_invokes(calls)}\n</｜DSML｜tool_calls>"


def dsml_invokes(calls: Sequence[ToolCall]) -> str:
    """The calls without the block around them."""

    def argument(key: str, value: JSON) -> str:
        kind = "true" if isinstance(value, str) else "false"
        head = f'<｜DSML｜parameter name="{key}" string="{kind}">'
        return f"{head}{as_text(value)}</｜DSML｜parameter>\n"

    return "\n".join(
        f'<｜DSML｜invoke name="{call.name}">\n{_write_arguments(call, argument)}</｜DSML｜invoke>'
        for call in calls
    )


def kimi_k3(calls: Sequence[ToolCall]) -> str:
    def argument(key: str, value: JSON) -> str:
        head = f'<|open|>argument key="{_escape_attribute(key)}" type="{_type_name(value)}"<|sep|>'
        return f"{head}{as_text(value)}<|close|>argument<|sep|>"

    written = "".join(
        f'<|open|>call tool="{_escape_attribute(call.name)}" index="{place}"<|sep|>'
        f"{_write_arguments(call, argument)}<|close|>call<|sep|>"
        for place, call in enumerate(calls, 1)
    )
    return f"<|open|>tools<|sep|>{written}<|close|>tools<|sep|>"


def minimax_m3(calls: Sequence[ToolCall]) -> str:
    written = "".join(
        f'{M3}<invoke name="{call.name}">{_write_arguments(call, _m3_value)}{M3}</invoke>\n'
        for call in calls
    )
    return f"{M3}<tool_call>\n{written}{M3}</tool_call>"


def minimax_m2(calls: Sequence[ToolCall]) -> str:
    return f"<minimax:tool_call>\n{_invokes(calls)}\n</minimax:tool_call>"


def invoke(calls: Sequence[ToolCall]) -> str:
    return f"<function_calls>\n{_invokes(calls)}\n</function_calls>"


def child_invoke(calls: Sequence[ToolCall]) -> str:
    def argument(key: str, value: JSON) -> str:
        return f"<{key}>{as_text(value)}</{key}>"

    return "\n".join(
        f"<invoke><{call.name}>{_write_arguments(call, argument)}</{call.name}></invoke>"
        for call in calls
    )


def qwen_xml(calls: Sequence[ToolCall]) -> str:
    def argument(key: str, value: JSON) -> str:
        return f"<parameter={key}>\n{as_text(value)}\n</parameter>\n"

    return "\n".join(
        f"<tool_call>\n<function={call.name}>\n{_write_arguments(call, argument)}</function>\n"
        "</tool_call>"
        for call in calls
    )


def glm(calls: Sequence[ToolCall]) -> str:
    def argument(key: str, value: JSON) -> str:
        return f"<arg_key>{key}</arg_key><arg_value>{as_text(value)}</arg_value>"

    return "\n".join(
        f"<tool_call>{call.name}{_write_arguments(call, argument)}</tool_call>" for call in calls
    )


def hunyuan3(calls: Sequence[ToolCall]) -> str:
    # Every tag of the open weights carries this suffix.
    s = ":opensource"

    def argument(key: str, value: JSON) -> str:
        return f"<arg_key{s}>{key}</arg_key{s}>\n<arg_value{s}>{as_text(value)}</arg_value{s}>\n"

    written = "".join(
        f"<tool_call{s}>{call.name}<tool_sep{s}>\n"
        f"{_write_arguments(call, argument)}</tool_call{s}>\n"
        for call in calls
    )
    return f"<tool_calls{s}>\n{written}</tool_calls{s}>"


def seed_oss(calls: Sequence[ToolCall]) -> str:
    def argument(key: str, value: JSON) -> str:
        return f"<parameter={key}>{as_text(value)}</parameter>\n"

    return "\n".join(
        f"<seed:tool_call>\n<function={call.name}>\n{_write_arguments(call, argument)}</function>\n"
        "</seed:tool_call>"
        for call in calls
    )


def step3(calls: Sequence[ToolCall]) -> str:
    written = "\n".join(
        "<｜tool_call_begin｜>function<｜tool_sep｜>"
        f"{_invokes([call], 'steptml:')}<｜tool_call_end｜>"
        for call in calls
    )
    return f"<｜tool_calls_begin｜>\n{written}\n<｜tool_calls_end｜>"


def minicpm5(calls: Sequence[ToolCall]) -> str:
    def argument(key: str, value: JSON) -> str:
        return f'<param name="{key}">{as_text(value)}</param>'

    return "\n".join(
        f'<function name="{call.name}">{_write_arguments(call, argument)}</function>'
        for call in calls
    )


def muse_glimmer(calls: Sequence[ToolCall]) -> str:
    # The prompt ends with the first start token.
    return "<|eom|><|start|>assistant".join(
        f" to={call.name}<|message|><atem:function_calls>\n{_invokes([call], 'atem:')}\n"
        "</atem:function_calls>"
        for call in calls
    )


def dots(calls: Sequence[ToolCall]) -> str:
    return f"<dots_function_call>\n{_invokes(calls)}\n</dots_function_call>"


def solar_open2(calls: Sequence[ToolCall]) -> str:
    def argument(key: str, value: JSON) -> str:
        return f"<|tool_arg:start|>{key}<|tool_arg:value|>{as_text(value)}<|tool_arg:end|>\n"

    return "\n".join(
        f"<|tool_call:start|>{call.name}\n{_write_arguments(call, argument)}<|tool_call:end|>"
        for call in calls
    )


def as_text(value: JSON) -> str:
    """A string as it is, everything else as JSON."""
    return value if isinstance(value, str) else as_json(value)


def _write_arguments(call: ToolCall, write: Callable[[str, JSON], str]) -> str:
    return "".join(write(key, value) for key, value in call.input.items())


def _invokes(calls: Iterable[ToolCall], space: str = "") -> str:
    def argument(key: str, value: JSON) -> str:
        return f'<{space}parameter name="{key}">{as_text(value)}</{space}parameter>\n'

    return "\n".join(
        f'<{space}invoke name="{call.name}">\n{_write_arguments(call, argument)}</{space}invoke>'
        for call in calls
    )


def _m3_value(key: str, value: JSON) -> str:
    """A tag named after the key, with nested tags for the contents of an object or an array."""
    match value:
        case Mapping() if value:
            inner = "".join(_m3_value(name, item) for name, item in value.items())
        case list() if value:
            inner = "".join(_m3_value("item", item) for item in value)
        case _:
            inner = as_text(value)
    return f"{M3}<{key}>{inner}{M3}</{key}>"


def _escape_attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;")


def _type_name(value: JSON) -> str:
    kinds: tuple[tuple[type, str], ...] = (
        (str, "string"),
        (bool, "boolean"),  # before int, because a bool is an int
        (int, "integer"),
        (float, "number"),
        (list, "array"),
        (Mapping, "object"),
    )
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")
