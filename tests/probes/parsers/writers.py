"""Every text format written as its model writes it, so that one battery of cases fits all."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from probes.messages import JSON
from probes.schemas.types import type_name

Call: TypeAlias = tuple[str, Mapping[str, JSON]]
P = "]<]minimax[>["


@dataclass(frozen=True)
class Format:
    """A format: how calls are written, and how many last characters may be missing."""

    name: str
    write: Callable[[Sequence[Call]], str]
    closer: str = ""  # what a stop token may have swallowed from the end
    whole: bool = False  # counts only as the whole visible text


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _text(value: JSON) -> str:
    # Between tags a string stands as it is, and any other value as JSON.
    return value if isinstance(value, str) else _dumps(value)


def hermes(calls: Sequence[Call]) -> str:
    return "\n".join(
        f"<tool_call>\n{_dumps({'name': name, 'arguments': args})}\n</tool_call>"
        for name, args in calls
    )


def qwen_xml(calls: Sequence[Call]) -> str:
    return "\n".join(
        f"<tool_call>\n<function={name}>\n"
        + "".join(
            f"<parameter={key}>\n{_text(value)}\n</parameter>\n" for key, value in args.items()
        )
        + "</function>\n</tool_call>"
        for name, args in calls
    )


def invoke(calls: Sequence[Call]) -> str:
    return "\n".join(
        f'<invoke name="{name}">\n'
        + "".join(
            f'<parameter name="{key}">{_text(value)}</parameter>\n' for key, value in args.items()
        )
        + "</invoke>"
        for name, args in calls
    )


def minimax_m2(calls: Sequence[Call]) -> str:
    return f"<minimax:tool_call>\n{invoke(calls)}\n</minimax:tool_call>"


def minimax_m3(calls: Sequence[Call]) -> str:
    invokes = "\n".join(
        f'{P}<invoke name="{name}">'
        + "".join(_m3_tag(key, value) for key, value in args.items())
        + f"{P}</invoke>"
        for name, args in calls
    )
    return f"{P}<tool_call>\n{invokes}\n{P}</tool_call>"


def _m3_tag(key: str, value: JSON) -> str:
    return f"{P}<{key}>{_m3_body(value)}{P}</{key}>"


def _m3_body(value: JSON) -> str:
    # An empty object or array has no tags of its own.
    match value:
        case Mapping() if value:
            return "".join(_m3_tag(key, item) for key, item in value.items())
        case list() if value:
            return "".join(_m3_tag("item", item) for item in value)
        case _:
            return _text(value)


def glm_45(calls: Sequence[Call]) -> str:
    return "\n".join(
        f"<tool_call>{name}\n"
        + "".join(
            f"<arg_key>{key}</arg_key>\n<arg_value>{_text(value)}</arg_value>\n"
            for key, value in args.items()
        )
        + "</tool_call>"
        for name, args in calls
    )


def glm_47(calls: Sequence[Call]) -> str:
    return "".join(
        f"<tool_call>{name}"
        + "".join(
            f"<arg_key>{key}</arg_key><arg_value>{_text(value)}</arg_value>"
            for key, value in args.items()
        )
        + "</tool_call>"
        for name, args in calls
    )


def deepseek_v3(calls: Sequence[Call]) -> str:
    body = "\n".join(
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{_dumps(args)}\n```<｜tool▁call▁end｜>"
        for name, args in calls
    )
    return f"<｜tool▁calls▁begin｜>{body}<｜tool▁calls▁end｜>"


def deepseek_v31(calls: Sequence[Call]) -> str:
    body = "".join(
        f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{_dumps(args)}<｜tool▁call▁end｜>"
        for name, args in calls
    )
    return f"<｜tool▁calls▁begin｜>{body}<｜tool▁calls▁end｜>"


def _is_string(value: JSON) -> str:
    return "true" if isinstance(value, str) else "false"


def dsml(calls: Sequence[Call], bar: str = "｜", block: str = "tool_calls") -> str:
    mark = f"{bar}DSML{bar}"
    body = "\n".join(
        f'<{mark}invoke name="{name}">\n'
        + "".join(
            f'<{mark}parameter name="{key}" string="{_is_string(value)}">{_text(value)}'
            f"</{mark}parameter>\n"
            for key, value in args.items()
        )
        + f"</{mark}invoke>"
        for name, args in calls
    )
    return f"<{mark}{block}>\n{body}\n</{mark}{block}>" if block else body


def kimi_k2(calls: Sequence[Call], section: str = "tool_calls_section") -> str:
    body = "".join(
        f"<|tool_call_begin|>functions.{name}:{index}<|tool_call_argument_begin|>{_dumps(args)}"
        "<|tool_call_end|>"
        for index, (name, args) in enumerate(calls)
    )
    return f"<|{section}_begin|>{body}<|{section}_end|>" if section else body


def kimi_k3(calls: Sequence[Call]) -> str:
    body = "".join(
        f'<|open|>call tool="{name}" index="{index}"<|sep|>'
        + "".join(
            f'<|open|>argument key="{key}" type="{type_name(value)}"<|sep|>{_text(value)}'
            "<|close|>argument<|sep|>"
            for key, value in args.items()
        )
        + "<|close|>call<|sep|>"
        for index, (name, args) in enumerate(calls)
    )
    return f"<|open|>tools<|sep|>{body}<|close|>tools<|sep|>"


def mistral_array(calls: Sequence[Call]) -> str:
    return "[TOOL_CALLS]" + _dumps([{"name": name, "arguments": args} for name, args in calls])


def mistral_v11(calls: Sequence[Call]) -> str:
    return "".join(f"[TOOL_CALLS]{name}[ARGS]{_dumps(args)}" for name, args in calls)


def llama_tag(calls: Sequence[Call]) -> str:
    return "<|python_tag|>" + llama_bare(calls)


def llama_bare(calls: Sequence[Call]) -> str:
    return "; ".join(_dumps({"name": name, "parameters": args}) for name, args in calls)


def llama_function(calls: Sequence[Call]) -> str:
    return "\n".join(f"<function={name}>{_dumps(args)}</function>" for name, args in calls)


def _python(calls: Sequence[Call]) -> list[str]:
    return [
        f"{name}({', '.join(f'{key}={value!r}' for key, value in args.items())})"
        for name, args in calls
    ]


def pythonic(calls: Sequence[Call]) -> str:
    return f"[{', '.join(_python(calls))}]"


def pythonic_eot(calls: Sequence[Call]) -> str:
    return f"{pythonic(calls)}<|eot|>"


def llama4(calls: Sequence[Call]) -> str:
    return f"<|python_start|>{pythonic(calls)}<|python_end|>"


def lfm2(calls: Sequence[Call]) -> str:
    return f"<|tool_call_start|>{pythonic(calls)}<|tool_call_end|>"


def lfm2_json(calls: Sequence[Call]) -> str:
    listed = [{"name": name, "arguments": args} for name, args in calls]
    return f"<|tool_call_start|>{_dumps(listed)}<|tool_call_end|>"


def olmo3(calls: Sequence[Call]) -> str:
    return "<function_calls>\n" + "\n".join(_python(calls)) + "\n</function_calls>"


def tool_code(calls: Sequence[Call]) -> str:
    return "```tool_code\n" + "\n".join(_python(calls)) + "\n```"


def tool_code_print(calls: Sequence[Call]) -> str:
    return "```tool_code\n" + "\n".join(f"print({call})" for call in _python(calls)) + "\n```"


def _gemma_value(value: JSON, quote: str) -> str:
    match value:
        case str():
            return f"{quote}{value}{quote}"
        case Mapping():
            members = (f"{key}:{_gemma_value(item, quote)}" for key, item in value.items())
            return f"{{{','.join(members)}}}"
        case list():
            return f"[{','.join(_gemma_value(item, quote) for item in value)}]"
        case _:
            return _dumps(value)


def _gemma(calls: Sequence[Call], start: str, quote: str, end: str) -> str:
    return "".join(
        f"{start}call:{name}{{"
        + ",".join(f"{key}:{_gemma_value(value, quote)}" for key, value in args.items())
        + f"}}{end}"
        for name, args in calls
    )


def gemma4(calls: Sequence[Call]) -> str:
    return _gemma(calls, "<|tool_call>", '<|"|>', "<tool_call|>")


def functiongemma(calls: Sequence[Call]) -> str:
    return _gemma(calls, "<start_function_call>", "<escape>", "<end_function_call>")


def harmony(calls: Sequence[Call]) -> str:
    return "<|start|>assistant".join(
        f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{_dumps(args)}"
        "<|call|>"
        for name, args in calls
    )


def name_arguments(calls: Sequence[Call], tag: str = "tool_call") -> str:
    return "\n".join(
        f"<{tag}>\n<name>{name}</name>\n<arguments>{_dumps(args)}</arguments>\n</{tag}>"
        for name, args in calls
    )


def seed_three(calls: Sequence[Call]) -> str:
    return name_arguments(calls, "minimax:tool_call")


def child_invoke(calls: Sequence[Call]) -> str:
    return "\n".join(
        f"<invoke>\n<{name}>\n"
        + "".join(f"<{key}>{_text(value)}</{key}>\n" for key, value in args.items())
        + f"</{name}>\n</invoke>"
        for name, args in calls
    )


def json_text(calls: Sequence[Call]) -> str:
    listed = [{"name": name, "arguments": args} for name, args in calls]
    return f"```json\n{_dumps(listed[0] if len(listed) == 1 else listed)}\n```"


def _listed(calls: Sequence[Call], key: str = "arguments") -> str:
    return _dumps([{"name": name, key: args} for name, args in calls])


def phi4_mini(calls: Sequence[Call]) -> str:
    return "functools" + _listed(calls)


def phi4_mini_tags(calls: Sequence[Call]) -> str:
    return f"<|tool_call|>{_listed(calls)}<|/tool_call|>"


def granite3(calls: Sequence[Call]) -> str:
    return f"<|tool_call|> {_listed(calls)}"


def cohere(calls: Sequence[Call]) -> str:
    body = ",\n".join(
        f"    {_dumps({'tool_call_id': str(index), 'tool_name': name, 'parameters': args})}"
        for index, (name, args) in enumerate(calls)
    )
    return f"<|START_ACTION|>[\n{body}\n]<|END_ACTION|>"


def command_r(calls: Sequence[Call]) -> str:
    listed = [{"tool_name": name, "parameters": args} for name, args in calls]
    return f"Action:\n```json\n{json.dumps(listed, ensure_ascii=False, indent=4)}\n```"


def tool_calls(calls: Sequence[Call]) -> str:
    return f"<tool_calls>{_listed(calls)}</tool_calls>"


def minimax_m1(calls: Sequence[Call]) -> str:
    lines = "".join(f"{_dumps({'name': name, 'arguments': args})}\n" for name, args in calls)
    return f"<tool_calls>\n{lines}</tool_calls>"


def hunyuan(calls: Sequence[Call]) -> str:
    return f"<answer>\n{tool_calls(calls)}\n</answer>"


def nemotron(calls: Sequence[Call]) -> str:
    return f"<TOOLCALL>{_listed(calls)}</TOOLCALL>"


def longcat(calls: Sequence[Call]) -> str:
    return "".join(
        f"<longcat_tool_call>\n{_dumps({'name': name, 'arguments': args})}\n</longcat_tool_call>"
        for name, args in calls
    )


def hunyuan3(calls: Sequence[Call], suffix: str = ":opensource") -> str:
    s = suffix
    body = "\n".join(
        f"<tool_call{s}>{name}<tool_sep{s}>\n"
        + "".join(
            f"<arg_key{s}>{key}</arg_key{s}>\n<arg_value{s}>{_text(value)}</arg_value{s}>\n"
            for key, value in args.items()
        )
        + f"</tool_call{s}>"
        for name, args in calls
    )
    return f"<tool_calls{s}>\n{body}\n</tool_calls{s}>"


def hunyuan3_plain(calls: Sequence[Call]) -> str:
    return hunyuan3(calls, "")


def seed_oss(calls: Sequence[Call]) -> str:
    return "\n".join(
        f"<seed:tool_call>\n<function={name}>\n"
        + "".join(f"<parameter={key}>{_text(value)}</parameter>\n" for key, value in args.items())
        + "</function>\n</seed:tool_call>"
        for name, args in calls
    )


def step3(calls: Sequence[Call]) -> str:
    body = "\n".join(
        f'<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="{name}">\n'
        + "".join(
            f'<steptml:parameter name="{key}">{_text(value)}</steptml:parameter>\n'
            for key, value in args.items()
        )
        + "</steptml:invoke><｜tool_call_end｜>"
        for name, args in calls
    )
    return f"<｜tool_calls_begin｜>\n{body}\n<｜tool_calls_end｜>"


def minicpm5(calls: Sequence[Call]) -> str:
    return "\n".join(
        f'<function name="{name}">'
        + "".join(f'<param name="{key}">{_text(value)}</param>' for key, value in args.items())
        + "</function>"
        for name, args in calls
    )


def atem(calls: Sequence[Call]) -> str:
    invokes = "\n".join(
        f'<atem:invoke name="{name}">\n'
        + "".join(
            f'<atem:parameter name="{key}">{_text(value)}</atem:parameter>\n'
            for key, value in args.items()
        )
        + "</atem:invoke>"
        for name, args in calls
    )
    return f"<atem:function_calls>\n{invokes}\n</atem:function_calls>"


def muse_glimmer(calls: Sequence[Call]) -> str:
    return "".join(
        f"<|start|>assistant to={call[0]}<|message|>{atem([call])}<|eom|>" for call in calls
    )


def inkling(calls: Sequence[Call]) -> str:
    return "".join(
        f"<|message_model|>{name}<|content_invoke_tool_json|>"
        f"{_dumps({'name': name, 'args': args})}<|end_message|>"
        for name, args in calls
    )


def dots(calls: Sequence[Call]) -> str:
    return f"<dots_function_call>\n{invoke(calls)}\n</dots_function_call>"


def gigachat3(calls: Sequence[Call]) -> str:
    return "<|message_sep|>\n\n".join(
        f"function call<|role_sep|>\n{_dumps({'name': name, 'arguments': args})}"
        for name, args in calls
    )


def gigachat31(calls: Sequence[Call]) -> str:
    return "".join(
        f"<|function_call|>{_dumps({'name': name, 'arguments': args})}" for name, args in calls
    )


def solar_open(calls: Sequence[Call]) -> str:
    body = "".join(
        f"<|tool_call:begin|>a1b2c3d4e{index}<|tool_call:name|>{name}<|tool_call:args|>"
        f"{_dumps(args)}<|tool_call:end|>"
        for index, (name, args) in enumerate(calls)
    )
    return f"<|tool_calls|>{body}<|calls|>"


def solar_open2(calls: Sequence[Call]) -> str:
    return "\n".join(
        f"<|tool_call:start|>{name}\n"
        + "".join(
            f"<|tool_arg:start|>{key}<|tool_arg:value|>{_text(value)}<|tool_arg:end|>\n"
            for key, value in args.items()
        )
        + "<|tool_call:end|>"
        for name, args in calls
    )


def internlm(calls: Sequence[Call]) -> str:
    return "".join(
        f"<|action_start|><|plugin|>\n{_dumps({'name': name, 'parameters': args})}<|action_end|>"
        for name, args in calls
    )


def apertus(calls: Sequence[Call]) -> str:
    return f"<|tools_prefix|>{_dumps([{name: args} for name, args in calls])}<|tools_suffix|>"


def xlam(calls: Sequence[Call]) -> str:
    return f'{{"tool_calls": {_listed(calls)}}}'


def functionary(calls: Sequence[Call]) -> str:
    return "\n".join(f">>>{name}\n{_dumps(args)}" for name, args in calls)


def functionary_first(calls: Sequence[Call]) -> str:
    return functionary(calls).removeprefix(">>>")


def qwen_agent(calls: Sequence[Call]) -> str:
    return "\n".join(f"✿FUNCTION✿: {name}\n✿ARGS✿: {_dumps(args)}" for name, args in calls)


def react(calls: Sequence[Call]) -> str:
    return "\n".join(f"Action: {name}\nAction Input: {_dumps(args)}" for name, args in calls)


FORMATS = {
    "hermes": Format("hermes", hermes, "</tool_call>"),
    "qwen_xml": Format("qwen_xml", qwen_xml, "</function>\n</tool_call>"),
    "invoke": Format("invoke", invoke, "</invoke>"),
    "minimax_m2": Format("minimax_m2", minimax_m2, "</invoke>\n</minimax:tool_call>"),
    "minimax_m3": Format("minimax_m3", minimax_m3, f"{P}</invoke>\n{P}</tool_call>"),
    "glm_45": Format("glm", glm_45, "</tool_call>"),
    "glm_47": Format("glm", glm_47, "</tool_call>"),
    "deepseek_v3": Format("deepseek_v3", deepseek_v3, "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
    "deepseek_v31": Format("deepseek_v31", deepseek_v31, "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
    "dsml": Format("dsml", dsml, "</｜DSML｜invoke>\n</｜DSML｜tool_calls>"),
    "kimi_k2": Format("kimi_k2", kimi_k2, "<|tool_call_end|><|tool_calls_section_end|>"),
    "kimi_k3": Format("kimi_k3", kimi_k3, "<|close|>call<|sep|><|close|>tools<|sep|>"),
    "mistral_array": Format("mistral", mistral_array),
    "mistral_v11": Format("mistral", mistral_v11),
    "llama_tag": Format("llama_json", llama_tag),
    "llama_bare": Format("llama_json", llama_bare, whole=True),
    "llama_function": Format("llama_function", llama_function, "</function>"),
    "pythonic": Format("pythonic", pythonic, whole=True),
    "harmony": Format("harmony", harmony, "<|call|>"),
    "name_arguments": Format("name_arguments", name_arguments, "</arguments>\n</tool_call>"),
    "seed_three": Format("name_arguments", seed_three, "</arguments>\n</minimax:tool_call>"),
    "child_invoke": Format("child_invoke", child_invoke, "</invoke>"),
    "json_text": Format("json_text", json_text, "\n```", whole=True),
    "phi4_mini": Format("phi4_mini", phi4_mini),
    "phi4_mini_tags": Format("granite3", phi4_mini_tags),
    "granite3": Format("granite3", granite3),
    "cohere": Format("cohere", cohere, "<|END_ACTION|>"),
    "command_r": Format("command_r", command_r, "\n```"),
    "tool_calls": Format("tool_calls", tool_calls, "</tool_calls>"),
    "minimax_m1": Format("tool_calls", minimax_m1, "</tool_calls>"),
    "hunyuan": Format("tool_calls", hunyuan, "</tool_calls>\n</answer>"),
    "nemotron": Format("nemotron", nemotron, "</TOOLCALL>"),
    "longcat": Format("longcat", longcat, "</longcat_tool_call>"),
    "internlm": Format("internlm", internlm, "<|action_end|>"),
    "apertus": Format("apertus", apertus, "<|tools_suffix|>"),
    "xlam": Format("xlam", xlam, whole=True),
    "gemma4": Format("gemma4", gemma4, "<tool_call|>"),
    "functiongemma": Format("functiongemma", functiongemma, "<end_function_call>"),
    "llama4": Format("llama4", llama4, "<|python_end|>"),
    "pythonic_eot": Format("pythonic", pythonic_eot, whole=True),
    "lfm2": Format("lfm2", lfm2, "<|tool_call_end|>"),
    "lfm2_json": Format("lfm2", lfm2_json, "<|tool_call_end|>"),
    "olmo3": Format("olmo3", olmo3, "\n</function_calls>"),
    "tool_code": Format("tool_code", tool_code, "\n```"),
    "tool_code_print": Format("tool_code", tool_code_print, "\n```"),
    "hunyuan3": Format("hunyuan3", hunyuan3, "</tool_call:opensource>\n</tool_calls:opensource>"),
    "hunyuan3_plain": Format("hunyuan3", hunyuan3_plain, "</tool_call>\n</tool_calls>"),
    "seed_oss": Format("seed_oss", seed_oss, "</function>\n</seed:tool_call>"),
    "step3": Format("step3", step3, "</steptml:invoke><｜tool_call_end｜>\n<｜tool_calls_end｜>"),
    "minicpm5": Format("minicpm5", minicpm5, "</function>"),
    "muse_glimmer": Format(
        "muse_glimmer", muse_glimmer, "</atem:invoke>\n</atem:function_calls><|eom|>"
    ),
    "atem": Format("muse_glimmer", atem, "</atem:invoke>\n</atem:function_calls>"),
    "inkling": Format("inkling", inkling, "<|end_message|>"),
    "dots": Format("dots", dots, "</invoke>\n</dots_function_call>"),
    "gigachat3": Format("gigachat3", gigachat3),
    "gigachat31": Format("gigachat3", gigachat31),
    "solar_open": Format("solar_open", solar_open, "<|tool_call:end|><|calls|>"),
    "solar_open2": Format("solar_open2", solar_open2, "<|tool_call:end|>"),
    "functionary": Format("functionary", functionary),
    "functionary_first": Format("functionary", functionary_first, whole=True),
    "qwen_agent": Format("qwen_agent", qwen_agent),
    "react": Format("react", react),
}
