"""Calls as the text that engines without a matching parser let through, by parser name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from simulators.faults.text import json_writers, literal_writers, tag_writers
from simulators.faults.text.json_writers import Writer

__all__ = ["SHAPES", "WRITERS", "Writer"]

_JSON: Mapping[str, Writer] = {
    "hermes": json_writers.hermes,
    "name_arguments": json_writers.name_arguments,
    "deepseek_v3": json_writers.deepseek_v3,
    "deepseek_v31": json_writers.deepseek_v31,
    "kimi_k2": json_writers.kimi_k2,
    "harmony": json_writers.harmony,
    "mistral": json_writers.mistral,
    "llama_function": json_writers.llama_function,
    "llama_json": json_writers.llama_json,
    "pythonic": json_writers.pythonic,
    "json_text": json_writers.json_text,
    "phi4_mini": json_writers.phi4_mini,
    "granite3": json_writers.granite3,
    "cohere": json_writers.cohere,
    "command_r": json_writers.command_r,
    "tool_calls": json_writers.tool_calls,
    "nemotron": json_writers.nemotron,
    "longcat": json_writers.longcat,
    "internlm": json_writers.internlm,
    "apertus": json_writers.apertus,
    "xlam": json_writers.xlam,
    "gemma4": literal_writers.gemma4,
    "functiongemma": literal_writers.functiongemma,
    "llama4": literal_writers.llama4,
    "lfm2": literal_writers.lfm2,
    "olmo3": literal_writers.olmo3,
    "tool_code": literal_writers.tool_code,
    "inkling": json_writers.inkling,
    "gigachat3": json_writers.gigachat3,
    "solar_open": json_writers.solar_open,
    "functionary": json_writers.functionary,
    "qwen_agent": json_writers.qwen_agent,
    "react": json_writers.react,
}
_TAGGED: Mapping[str, Writer] = {
    "dsml": tag_writers.dsml,
    "kimi_k3": tag_writers.kimi_k3,
    "minimax_m3": tag_writers.minimax_m3,
    "minimax_m2": tag_writers.minimax_m2,
    "qwen_xml": tag_writers.qwen_xml,
    "glm": tag_writers.glm,
    "invoke": tag_writers.invoke,
    "child_invoke": tag_writers.child_invoke,
    "hunyuan3": tag_writers.hunyuan3,
    "seed_oss": tag_writers.seed_oss,
    "step3": tag_writers.step3,
    "minicpm5": tag_writers.minicpm5,
    "muse_glimmer": tag_writers.muse_glimmer,
    "dots": tag_writers.dots,
    "solar_open2": tag_writers.solar_open2,
}
WRITERS: Mapping[str, Writer] = MappingProxyType({**_JSON, **_TAGGED})
# A profile has two shapes of text: arguments as one literal, which is nearly always JSON, or
# arguments one by one between tags.
SHAPES: Mapping[str, str] = MappingProxyType(
    {**dict.fromkeys(_JSON, "json_text"), **dict.fromkeys(_TAGGED, "xml")}
)
