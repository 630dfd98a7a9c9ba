"""What stands around a tool's name, and what of it may be a call's arguments."""

from __future__ import annotations

import re

from probes.parsers.diagnosis.declared_names import NamePlace

# Characters before and behind a name that decide whether it is called.
BEFORE = 160
AFTER = 240

QUOTE = r"(?:\\?[\"'`*“”‘’]|&quot;)"
_ARGUMENT_WORD = (
    r"(?:arguments?|args|parameters?|params|inputs?|tool_?input|action_?input|kwargs|payload|with"
    r"|参数)"
)
# Between a name and its arguments: closing decoration, a fence, a word that announces them.
_GAP = re.compile(
    rf"[\s\"'`*_\])}}>:=,-]{{0,24}}(?:```\w{{0,16}}\s{{0,8}})?"
    rf"(?:{QUOTE}?{_ARGUMENT_WORD}{QUOTE}?\s{{0,4}}[:=：]\s{{0,16}})?(?:```\w{{0,16}}\s{{0,8}})?",
    re.IGNORECASE,
)
_OBJECT = re.compile(
    r"[{\[]\s{0,32}(?:[\"'{\]}]|\\\"|[A-Za-z_]\w{0,63}\s{0,4}:)|&lt;\w|<\w|\(\s{0,8}[\w\"'{[]"
)
_PAIR = re.compile(
    r"[\s\"'`*_\])}>:=,-]{0,24}(?:```\w{0,16}\s{0,8})?\n?[ \t*•\"'-]{0,16}"
    r"(?P<key>[A-Za-z_]\w{0,63})[\"'`*]{0,2}\s{0,4}[:=]\s{0,4}\S",
)
_ARGUMENTS_LINE = re.compile(
    rf"[\s\"'`*_\])}}>:=,-]{{0,24}}(?:```\w{{0,16}}\s{{0,8}})?{QUOTE}{{0,2}}{_ARGUMENT_WORD}{QUOTE}?\s{{0,4}}[:=：]{QUOTE}{{0,4}}"
    r"\s{0,4}(?:\n|[{\[\"'])",
    re.IGNORECASE,
)


class NameContext:
    """One name in its text."""

    def __init__(self, text: str, place: NamePlace) -> None:
        self.text = text
        self.place = place
        self.start, self.end = place.start, place.end
        self.word = text[place.start : place.end]
        self.before = text[max(0, place.start - BEFORE) : place.start]
        self.after = text[place.end : place.end + AFTER]
        self.line_before = self.before.rpartition("\n")[2]
        # The same with the namespace: `tool:get_weather` is a label as well.
        self.name_before = text[max(0, place.name_start - BEFORE) : place.name_start]

    def back(self, match: re.Match[str]) -> int:
        """Where in the text a match in `before` or `name_before` begins."""
        origin = self.start if match.string == self.before else self.place.name_start
        return origin - len(match.string) + match.start()


def starts_arguments(text: str, at: int, properties: frozenset[str] = frozenset()) -> bool:
    """Whether arguments follow: an object, tags, or lines with the tool's own parameters."""
    gap = _GAP.match(text, at, at + 160)
    if gap is not None and _OBJECT.match(text, gap.end(), gap.end() + 120):
        return True
    if _ARGUMENTS_LINE.match(text, at, at + 240):
        return True
    pair = _PAIR.match(text, at, at + 240)
    return pair is not None and pair["key"] in properties
