"""Calls that arrive as text: one parser a format, one reader for all (`probes/parsers/reader.py`).

To add a format, copy a sibling, and add a line here. The order is that of detection: the most
specific sign first.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from probes.parsers import (
    child_invoke,
    deepseek,
    dots,
    dsml,
    functionary,
    gigachat3,
    glm,
    harmony,
    hermes,
    hunyuan3,
    inkling,
    invoke,
    json_text,
    kimi_k2,
    kimi_k3,
    llama_function,
    llama_json,
    minicpm5,
    minimax_m2,
    minimax_m3,
    mistral,
    muse_glimmer,
    name_arguments,
    pythonic,
    qwen_agent,
    qwen_xml,
    react,
    seed_oss,
    solar_open,
    solar_open2,
    step3,
)
from probes.parsers.context import Parser

__all__ = ["JSON_BODIES", "PARSERS", "Parser"]

PARSERS: Mapping[str, tuple[Parser, ...]] = MappingProxyType(
    {
        "dsml": (dsml.PARSER,),
        "deepseek_v3": (deepseek.PARSER_V3,),
        "deepseek_v31": (deepseek.PARSER_V31,),
        "kimi_k2": (kimi_k2.PARSER,),
        "kimi_k3": (kimi_k3.PARSER,),
        "minimax_m3": (minimax_m3.PARSER,),
        "minimax_m2": (minimax_m2.PARSER,),
        "step3": (step3.PARSER,),
        "solar_open": (solar_open.PARSER,),
        "solar_open2": (solar_open2.PARSER,),
        "gigachat3": (gigachat3.PARSER,),
        "inkling": (inkling.PARSER, inkling.FIRST),
        "muse_glimmer": (muse_glimmer.PARSER, muse_glimmer.MESSAGES, muse_glimmer.FIRST),
        "harmony": (harmony.PARSER,),
        "mistral": (mistral.PARSER,),
        "hunyuan3": (hunyuan3.PARSER, hunyuan3.PLAIN),
        "seed_oss": (seed_oss.PARSER,),
        "dots": (dots.PARSER,),
        "minicpm5": (minicpm5.PARSER,),
        "hermes": (hermes.PARSER,),
        "qwen_xml": (qwen_xml.PARSER,),
        "llama_function": (llama_function.PARSER,),
        "name_arguments": (name_arguments.PARSER,),
        "glm": (glm.PARSER,),
        "invoke": (invoke.PARSER,),
        "child_invoke": (child_invoke.PARSER,),
        "qwen_agent": (qwen_agent.PARSER,),
        "functionary": (functionary.PARSER, functionary.FIRST),
        "react": (react.PARSER,),
        "llama_json": (llama_json.PARSER, llama_json.BARE),
        "pythonic": (pythonic.PARSER,),
        "json_text": (json_text.PARSER, json_text.BARE),
    }
)

# The formats whose arguments are written as one JSON value; the others write each on its own.
JSON_BODIES = frozenset(
    {
        "deepseek_v3",
        "deepseek_v31",
        "functionary",
        "gigachat3",
        "harmony",
        "hermes",
        "inkling",
        "json_text",
        "kimi_k2",
        "llama_function",
        "llama_json",
        "mistral",
        "name_arguments",
        "pythonic",
        "qwen_agent",
        "react",
        "solar_open",
    }
)
