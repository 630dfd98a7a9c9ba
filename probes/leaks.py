from __future__ import annotations

from collections.abc import Iterable, Iterator

# How each text format opens a call. The bar of the DeepSeek tags is U+FF5C.
SENTINELS = (
    "<tool_call>",
    "<tool_calls>",
    "<function_calls>",
    "<function=",
    "<function_call>",
    "<invoke ",
    "<minimax:tool_call>",
    "]<]minimax[>[<tool_call>",
    "<｜DSML｜",
    "<｜tool▁calls▁begin｜>",
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>",
    "<|open|>tools",
    "<|channel|>commentary",
    "<|python_tag|>",
    "[TOOL_CALLS]",
)
# A call names its tool soon after it opens; prose about a tag does not.
_NAME_WITHIN = 400
# No honest answer is longer; a hostile one must not keep us busy.
_SCANNED = 256 * 1024


def find_leak(text: str, names: Iterable[str]) -> str | None:
    """The markup under which a call to one of the declared names stands in the text, if any."""
    declared = tuple(names)
    text = text[:_SCANNED]
    for start in _line_starts(text):
        head = text[start : start + _NAME_WITHIN]
        if not any(name in head for name in declared):
            continue
        for sentinel in SENTINELS:
            if head.startswith(sentinel):
                return sentinel
        if _is_json_call(head):
            return "JSON"
    return None


def _line_starts(text: str) -> Iterator[int]:
    start = 0
    while start >= 0:
        while start < len(text) and text[start].isspace():
            start += 1
        if start < len(text):
            yield start
        newline = text.find("\n", start)
        start = newline + 1 if newline >= 0 else -1


def _is_json_call(head: str) -> bool:
    if not head.startswith(("{", "[")):
        return False
    return '"name"' in head and ('"arguments"' in head or '"parameters"' in head)
