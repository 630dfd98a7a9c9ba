"""Calls as the text that engines without a fitting parser let through, by the parser's name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from simulators.faults import json_texts, tagged_texts
from simulators.faults.json_texts import Writer

__all__ = ["SHAPES", "WRITERS", "Writer"]

_JSON: Mapping[str, Writer] = {
    "hermes": json_texts.hermes,
    "name_arguments": json_texts.name_arguments,
    "deepseek_v3": json_texts.deepseek_v3,
    "deepseek_v31": json_texts.deepseek_v31,
    "kimi_k2": json_texts.kimi_k2,
    "harmony": json_texts.harmony,
    "mistral": json_texts.mistral,
    "llama_function": json_texts.llama_function,
    "llama_json": json_texts.llama_json,
    "pythonic": json_texts.pythonic,
    "json_text": json_texts.json_text,
}
_TAGGED: Mapping[str, Writer] = {
    "dsml": tagged_texts.dsml,
    "kimi_k3": tagged_texts.kimi_k3,
    "minimax_m3": tagged_texts.minimax_m3,
    "minimax_m2": tagged_texts.minimax_m2,
    "qwen_xml": tagged_texts.qwen_xml,
    "glm": tagged_texts.glm,
    "invoke": tagged_texts.invoke,
    "child_invoke": tagged_texts.child_invoke,
}
WRITERS: Mapping[str, Writer] = MappingProxyType({**_JSON, **_TAGGED})
# A profile knows two shapes of text: arguments as one literal, which is nearly always JSON, or
# arguments one by one between tags.
SHAPES: Mapping[str, str] = MappingProxyType(
    {**dict.fromkeys(_JSON, "json_text"), **dict.fromkeys(_TAGGED, "xml")}
)
