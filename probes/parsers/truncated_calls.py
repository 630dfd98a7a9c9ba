"""The first words of a call whose text ended before anything could be said about it.

Asked only where generation hit its length limit. Prose about a tag goes on behind it in words;
what is cut off there goes on, as far as it goes, in the markup of its format.
"""

from __future__ import annotations

import re

from probes.parsers.context import ParseContext

# No header of a call is longer; the pattern never sees more.
MAX_HEAD = 700

_NAME = r"[\w.:/-]{0,256}"
_JSON = r"\s{0,64}[\[{][\s\S]{0,690}"
_TAG = r"\s{0,64}(?:<[a-z]{0,12}(?:[= ][^<>\n]{0,300})?)?"
_PYTHON = rf"\s{{0,16}}\[?\s{{0,16}}{_NAME}|{_JSON}"
_NAME_TAG = rf"\s{{0,64}}<name>{_NAME}(?:</name>\s{{0,64}})?(?:<[/a-z]{{0,12}}>?)?"
_ID_NAME = rf"[\w-]{{0,128}}(?:<\|tool_call:name\|>{_NAME})?(?:<[|\w:]{{0,32}})?"
_HEADS = tuple(
    (opener, re.compile(pattern))
    for opener, pattern in (
        # DSML's bar has many forms; what matters is what follows it.
        ("DSML", rf"{_NAME} ?(?:>\s{{0,64}}(?:<[^<>\n]{{0,300}})?|name=[^<>\n]{{0,300}})?"),
        (
            "<｜tool▁call",
            rf"\s{{0,64}}(?:<｜tool▁call▁begin｜>)?{_NAME}(?:<｜tool▁sep｜>{_NAME})?"
            r"\s{0,16}(?:<[｜\w▁]{0,32}|`{1,3}\w{0,4})?",
        ),
        ("<|tool_call|>", rf"\s{{0,16}}|{_JSON}"),
        ("functools[", r"\s{0,64}(?:\{[\s\S]{0,690})?"),
        ("Action:", rf"\s{{0,16}}```(?:json)?{_JSON}"),
        ("<|START_ACTION|>", rf"\s{{0,16}}|{_JSON}"),
        ("<|action_start|>", rf"\s{{0,16}}(?:<[|a-z]{{0,9}}|<\|plugin\|>(?:\s{{0,16}}|{_JSON}))?"),
        ("<|tools_prefix|>", rf"\s{{0,16}}|{_JSON}"),
        ("<longcat_tool_call>", rf"\s{{0,16}}|{_JSON}"),
        ("<TOOLCALL>", rf"\s{{0,16}}|{_JSON}"),
        ("<answer>", rf"\s{{0,64}}<tool_calls>(?:\s{{0,16}}|{_JSON})"),
        ("<|tool_call_start|>", _PYTHON),
        ("<|python_start|>", _PYTHON),
        ("<start_function_call>", rf"\s{{0,16}}:?{_NAME}"),
        (
            "<｜tool_call",
            rf"\s{{0,64}}(?:<｜tool_call_begin｜>)?\s{{0,16}}{_NAME}(?:<｜tool_sep｜>\s{{0,16}}{_NAME})?"
            r"\s{0,16}(?:<[^<>\n]{0,300})?",
        ),
        (
            ":opensource>",
            rf"\s{{0,64}}(?:<tool_call:opensource>)?{_NAME}\s{{0,16}}(?:<[\w:]{{0,32}})?",
        ),
        (
            "<|message_model|>",
            rf"[\w.:/-]{{1,256}}(?:<[|\w]{{0,32}})?"
            rf"|{_NAME}<\|content_invoke_tool_json\|>(?:{_JSON})?",
        ),
        ("<|content_invoke_tool_json|>", rf"\s{{0,16}}|{_JSON}"),
        ("<|function_call|>", rf"\s{{0,16}}|{_JSON}"),
        ("<|role_sep|>", rf"\s{{0,16}}|{_JSON}"),
        (
            "<|tool_calls|>",
            rf"\s{{0,64}}(?:<\|tool_call:begin\|>{_ID_NAME}|<[|\w:]{{0,32}})?",
        ),
        ("<|tool_call:", _ID_NAME),
        ("✿", rf"[:：]?\s{{0,16}}{_NAME}\s{{0,16}}(?:✿\w{{0,5}}✿?[:：]?\s{{0,16}})?"),
        (
            "<|tool_call",
            rf"\s{{0,64}}(?:<\|tool_call_begin\|>)?\s{{0,16}}{_NAME}\s{{0,16}}(?:<[|\w]{{0,32}})?",
        ),
        ("<|open|>", r"\s{0,64}(?:<\|open\|>)?[^<]{0,600}(?:<[|\w]{0,16})?"),
        ("]<]minimax[>[", r"\s{0,64}[\]\[<>a-z]{0,24}[= ]?[^<>\n]{0,300}"),
        (
            "[TOOL_CALLS]",
            rf"\s{{0,16}}|{_NAME}(?:\[[A-Z_]{{0,8}}(?:\][\w-]{{0,64}}(?:\[[A-Z]{{0,5}}\]?)?)?)?"
            rf"|{_JSON}",
        ),
        ("<|python_tag|>", rf"\s{{0,16}}|{_NAME}(?:\([^\n]{{0,600}})?|{_JSON}"),
        ("<|", r"[^\n]{0,300}\bto=[^\n]{0,300}"),
        ("<function=", r"[^<>\n]{0,300}"),
        ("name=", r"[^<>\n]{0,300}"),
        ("<tool_call>", rf"{_TAG}|{_JSON}|{_NAME_TAG}"),
        ("<seed:tool_call>", _TAG),
        ("<atem:", r"\s{0,64}(?:<[a-z:]{0,12}(?: [^<>\n]{0,300})?)?"),
        ("<dots_function_call>", rf"{_TAG}|{_JSON}"),
        (
            "<tool_calls>",
            rf"{_TAG}|{_JSON}"
            rf"|\s{{0,64}}<(?:tool_call>\s{{0,16}}{_NAME}\s{{0,16}}(?:<[a-z_]{{0,9}})?|tool_[cal]{{0,4}})",
        ),
        ("<minimax:tool_call>", rf"{_TAG}|{_JSON}|{_NAME_TAG}"),
        ("<function_call", rf"{_TAG}|{_JSON}"),
        ("<tool", rf"{_TAG}|{_JSON}"),
    )
)
# Formats that write the name right behind the opening.
_NAME_BEHIND = frozenset({"<tool_call>", "<function_calls>", "```tool_code", "call:"})
_BARE_NAME = re.compile(rf"\s{{0,16}}({_NAME})\s{{0,16}}(?:<[a-z_]{{0,8}})?")


def begins_call(opener: str, rest: str, context: ParseContext) -> bool:
    """Whether the text that ends behind the opening is the head of a call."""
    head = next((head for sign, head in _HEADS if sign in opener), None)
    if head is not None and head.fullmatch(rest):
        return True
    return opener in _NAME_BEHIND and _begins_name(rest, context)


def _begins_name(rest: str, context: ParseContext) -> bool:
    # A word is a name only if a tool's name begins so.
    match = _BARE_NAME.fullmatch(rest)
    return match is not None and any(tool.name.startswith(match[1]) for tool in context.tools)
