"""Calls that arrive as text: one parser a format, one reader for all (`probes/parsers/reader.py`).

To add a format, copy a sibling, and add a line here. The order is that of detection: the most
specific sign first.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from probes.parsers.code_formats import (
    functiongemma,
    gemma4,
    lfm2,
    llama4,
    olmo3,
    pythonic,
    tool_code,
)
from probes.parsers.context import Parser
from probes.parsers.json_formats import (
    apertus,
    cohere,
    command_r,
    deepseek,
    functionary,
    gigachat3,
    granite3,
    harmony,
    hermes,
    inkling,
    internlm,
    json_text,
    kimi_k2,
    llama_function,
    llama_json,
    longcat,
    mistral,
    name_arguments,
    nemotron,
    phi4_mini,
    qwen_agent,
    react,
    solar_open,
    tool_calls_tag,
    xlam,
)
from probes.parsers.tag_formats import (
    child_invoke,
    dots,
    dsml,
    glm,
    hunyuan3,
    invoke,
    kimi_k3,
    minicpm5,
    minimax_m2,
    minimax_m3,
    muse_glimmer,
    qwen_xml,
    seed_oss,
    solar_open2,
    step3,
)

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
        "granite3": (granite3.PARSER,),
        "cohere": (cohere.PARSER,),
        "internlm": (internlm.PARSER,),
        "longcat": (longcat.PARSER,),
        "apertus": (apertus.PARSER,),
        "step3": (step3.PARSER,),
        "solar_open": (solar_open.PARSER,),
        "solar_open2": (solar_open2.PARSER,),
        "gigachat3": (gigachat3.PARSER,),
        "inkling": (inkling.PARSER, inkling.FIRST),
        "muse_glimmer": (muse_glimmer.PARSER, muse_glimmer.MESSAGES, muse_glimmer.FIRST),
        "harmony": (harmony.PARSER,),
        "gemma4": (gemma4.PARSER, gemma4.BARE),
        "functiongemma": (functiongemma.PARSER,),
        "lfm2": (lfm2.PARSER,),
        "llama4": (llama4.PARSER,),
        "mistral": (mistral.PARSER,),
        "nemotron": (nemotron.PARSER,),
        "phi4_mini": (phi4_mini.PARSER, phi4_mini.TAGGED),
        "hunyuan3": (hunyuan3.PARSER, hunyuan3.PLAIN),
        "seed_oss": (seed_oss.PARSER,),
        "dots": (dots.PARSER,),
        "minicpm5": (minicpm5.PARSER,),
        "hermes": (hermes.PARSER,),
        "tool_calls": (tool_calls_tag.PARSER,),
        "qwen_xml": (qwen_xml.PARSER,),
        "llama_function": (llama_function.PARSER,),
        "name_arguments": (name_arguments.PARSER,),
        "glm": (glm.PARSER,),
        "invoke": (invoke.PARSER,),
        "olmo3": (olmo3.PARSER,),
        "child_invoke": (child_invoke.PARSER,),
        "command_r": (command_r.PARSER,),
        "qwen_agent": (qwen_agent.PARSER,),
        "functionary": (functionary.PARSER, functionary.FIRST),
        "react": (react.PARSER,),
        "llama_json": (llama_json.PARSER, llama_json.BARE),
        "xlam": (xlam.PARSER,),
        "tool_code": (tool_code.PARSER,),
        "pythonic": (pythonic.PARSER,),
        "json_text": (json_text.PARSER, json_text.BARE),
    }
)

# The formats whose arguments are one JSON value, or a literal that is read as one; the others write
# each on its own.
JSON_BODIES = frozenset(
    {
        "apertus",
        "cohere",
        "command_r",
        "deepseek_v3",
        "deepseek_v31",
        "granite3",
        "functiongemma",
        "gemma4",
        "harmony",
        "hermes",
        "internlm",
        "functionary",
        "gigachat3",
        "inkling",
        "json_text",
        "kimi_k2",
        "lfm2",
        "llama4",
        "llama_function",
        "llama_json",
        "longcat",
        "mistral",
        "name_arguments",
        "nemotron",
        "phi4_mini",
        "pythonic",
        "tool_calls",
        "xlam",
        "olmo3",
        "tool_code",
        "qwen_agent",
        "react",
        "solar_open",
    }
)
