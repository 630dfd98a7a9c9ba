"""Calls as text whose arguments stand one by one between tags: one writer a format."""

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
        return f"{head}{plain(value)}</｜DSML｜parameter>\n"

    return "\n".join(
        f'<｜DSML｜invoke name="{call.name}">\n{_each(call, argument)}</｜DSML｜invoke>'
        for call in calls
    )


def kimi_k3(calls: Sequence[ToolCall]) -> str:
    def argument(key: str, value: JSON) -> str:
        head = f'<|open|>argument key="{_escaped(key)}" type="{_type(value)}"<|sep|>'
        return f"{head}{plain(value)}<|close|>argument<|sep|>"

    written = "".join(
        f'<|open|>call tool="{_escaped(call.name)}" index="{place}"<|sep|>'
        f"{_each(call, argument)}<|close|>call<|sep|>"
        for place, call in enumerate(calls, 1)
    )
    return f"<|open|>tools<|sep|>{written}<|close|>tools<|sep|>"


def minimax_m3(calls: Sequence[ToolCall]) -> str:
    written = "".join(
        f'{M3}<invoke name="{call.name}">{_each(call, _m3_value)}{M3}</invoke>\n' for call in calls
    )
    return f"{M3}<tool_call>\n{written}{M3}</tool_call>"


def minimax_m2(calls: Sequence[ToolCall]) -> str:
    return f"<minimax:tool_call>\n{_invokes(calls)}\n</minimax:tool_call>"


def invoke(calls: Sequence[ToolCall]) -> str:
    return f"<function_calls>\n{_invokes(calls)}\n</function_calls>"


def child_invoke(calls: Sequence[ToolCall]) -> str:
    def argument(key: str, value: JSON) -> str:
        return f"<{key}>{plain(value)}</{key}>"

    return "\n".join(
        f"<invoke><{call.name}>{_each(call, argument)}</{call.name}></invoke>" for call in calls
    )


def qwen_xml(calls: Sequence[ToolCall]) -> str:
    def argument(key: str, value: JSON) -> str:
        return f"<parameter={key}>\n{plain(value)}\n</parameter>\n"

    return "\n".join(
        f"<tool_call>\n<function={call.name}>\n{_each(call, argument)}</function>\n</tool_call>"
        for call in calls
    )


def glm(calls: Sequence[ToolCall]) -> str:
    def argument(key: str, value: JSON) -> str:
        return f"<arg_key>{key}</arg_key><arg_value>{plain(value)}</arg_value>"

    return "\n".join(f"<tool_call>{call.name}{_each(call, argument)}</tool_call>" for call in calls)


def plain(value: JSON) -> str:
    """A string as it is, everything else as JSON."""
    return value if isinstance(value, str) else as_json(value)


def _each(call: ToolCall, write: Callable[[str, JSON], str]) -> str:
    return "".join(write(key, value) for key, value in call.input.items())


def _invokes(calls: Iterable[ToolCall]) -> str:
    def argument(key: str, value: JSON) -> str:
        return f'<parameter name="{key}">{plain(value)}</parameter>\n'

    return "\n".join(
        f'<invoke name="{call.name}">\n{_each(call, argument)}</invoke>' for call in calls
    )


def _m3_value(key: str, value: JSON) -> str:
    """A tag named after the value, with tags inside for what an object or an array holds."""
    match value:
        case Mapping() if value:
            inner = "".join(_m3_value(name, item) for name, item in value.items())
        case list() if value:
            inner = "".join(_m3_value("item", item) for item in value)
        case _:
            inner = plain(value)
    return f"{M3}<{key}>{inner}{M3}</{key}>"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;")


def _type(value: JSON) -> str:
    kinds: tuple[tuple[type, str], ...] = (
        (str, "string"),
        (bool, "boolean"),  # before int, which a bool is as well
        (int, "integer"),
        (float, "number"),
        (list, "array"),
        (Mapping, "object"),
    )
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")
