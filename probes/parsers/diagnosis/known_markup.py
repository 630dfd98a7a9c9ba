"""Finds markup of the formats in `PARSERS` by their openings and inner tokens, in any place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from probes.parsers import PARSERS
from probes.parsers.diagnosis.call_candidates import CallEnds, Candidate
from probes.parsers.diagnosis.declared_names import DeclaredNames
from probes.parsers.markup import MENTIONED, TOKENS, WITHOUT_TOOL
from probes.parsers.word_search import WordSearch

# How far behind an opening the tool's name is looked for.
HEAD = 400
# Words in front of an inner token that may hold the name.
LEAD = 120

# Tokens from the inside of a format, which are left where its opening was lost.
_INNER = MappingProxyType(
    {
        "<|tool_call_argument_begin|>": "kimi_k2",
        "<|open|>argument ": "kimi_k3",
        "<|open|>tools": "kimi_k3",
        "<｜tool▁sep｜>": "deepseek_v31",
        "<|constrain|>": "harmony",
        "[ARGS]": "mistral",
        "<arg_key>": "glm",
        "<tool_sep>": "hunyuan3",
        "<parameter=": "qwen_xml",
        "<param name=": "minicpm5",
        "✿ARGS✿": "qwen_agent",
    }
)
# Tags that end a call, left where all before them was taken for text.
_CLOSING = MappingProxyType(
    {"</tool_call>": "hermes", "</function>": "qwen_xml", "</function_calls>": "invoke"}
)
# Openings that need a closer look, since other texts begin so too.
_WEAK = frozenset({"Action:", "call:", ">>>", "<answer>", "<tools>"})
_AT_LINE_START = frozenset({"call:", ">>>"})
_FENCE = "```tool_code"
# Openings that several formats share, told apart by what follows.
_BY_BODY: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType(
    {
        "<tool_call>": (
            ("{", "hermes"),
            ("[", "hermes"),
            ("<function=", "qwen_xml"),
            ("<name>", "name_arguments"),
            ("<invoke name=", "minimax_m2"),
            ("<", "child_invoke"),
            ("", "glm"),
        ),
        "<tool_calls>": (
            ("{", "tool_calls"),
            ("[", "tool_calls"),
            ("<tool_call>", "hunyuan3"),
            ("", "invoke"),
        ),
        "<function_calls>": (("<", "invoke"), ("", "olmo3")),
        "<｜tool▁calls▁begin｜>": (
            ("<｜tool▁call▁begin｜>function", "deepseek_v3"),
            ("", "deepseek_v31"),
        ),
        "<｜tool▁call▁begin｜>": (("function<", "deepseek_v3"), ("", "deepseek_v31")),
        "Action:": (("```", "command_r"), ("", "react")),
        "<|start|>": (("", "harmony"),),
        "<minimax:tool_call>": (("", "minimax_m2"),),
        "<function_call>": (("", "hermes"),),
        "<|tool_call|>": (("", "granite3"),),
    }
)
_BODY = re.compile(r"\s{0,64}(?:[{\[<]|✿|```)")
_TAG = re.compile(r"</?([\w:.]{1,48})")
_TOKEN_END = re.compile(
    r"<[|｜][^<>\n]{0,40}(?:end|END|close|suffix|call\||calls\|)[^<>\n]{0,40}>"
    r"|<tool_call\|>|<end_function_call>|\[/TOOL_CALLS\]"
)
_HARMONY = re.compile(r"[^\n]{0,120}?\bto=(?:functions\.)?[\w.-]{1,256}[^\n]{0,80}?(?:<\||\{|json)")
_HARMONY_TAIL = re.compile(
    r"[\w.:-]{1,256}\s{0,4}(?:(?:commentary|code|json|<\|)[^{\n]{0,60})*\s{0,8}\{"
)
_ACTION = re.compile(
    r"\s{0,16}(?:```(?:json)?\s{0,16}[\[{]|[\w.:-]{1,256}\s{0,16}\n\s{0,16}Action Input)"
)
# Between an opening and the name: the format's own words and signs.
_BEFORE_NAME = re.compile(
    r"[\s\"'<>｜|=:.({\[-]{0,64}(?:(?:tool_calls?|function_calls?|functions?|invoke|name|print|call"
    r"|DSML|id|tool|default_api)[\s\"'<>｜|=:.({\[-]{0,64}){0,8}"
)
# Behind the name of a call no word of a sentence follows.
_BEHIND_NAME = re.compile(r"(?![ \t]{1,8}[^\W\d])")
_FIRST_BRACKET = re.compile(r"[^{\[\n]{0,200}\n?[{\[]")
_PARAMETER = re.compile(r"[\w.-]{1,128}>")


class KnownMarkup:
    """Looks for the known formats in one text."""

    def __init__(self, ends: CallEnds, names: DeclaredNames) -> None:
        self._text = ends.text
        self._ends = ends
        self._names = names

    def find(self) -> Iterator[Candidate]:
        """The candidates in order; none begins inside another that shows a call."""
        at = 0
        while (match := _WORDS.pattern.search(self._text, at)) is not None:
            candidate = self._candidate(match.group(), match.start())
            at = match.end()
            if candidate is not None:
                yield candidate
                at = max(at, candidate.end if candidate.level > MENTIONED else 0)

    def _candidate(self, word: str, start: int) -> Candidate | None:
        if word in _CLOSING:
            return self._closing(word, start)
        if word in _INNER:
            return self._inner(word, start)
        behind = start + len(word)
        if word in _AT_LINE_START and not self._begins_line(start, behind):
            return None
        format = self._format(word, behind)
        if not self._has_body(word, behind):
            return (
                None if word in _WEAK else Candidate(format, start, behind, MENTIONED, named=False)
            )
        named = self._is_named(behind)
        if not named and word in _WEAK:
            return None
        end = self._end(word, behind)
        level = TOKENS if named else WITHOUT_TOOL
        closed = end >= 0
        stop = end if closed else self._ends.line(behind)
        return Candidate(format, start, stop, level, named, closed, word == _FENCE)

    def _format(self, word: str, behind: int) -> str:
        ahead = self._text[behind : behind + 96].lstrip()
        if word == "<function=":
            inside = self._text[behind : behind + HEAD].partition(">")[2].lstrip()
            return "llama_function" if inside.startswith("{") else "qwen_xml"
        for sign, format in _BY_BODY.get(word, ()):
            if ahead.startswith(sign):
                return format
        return _FORMATS[word]

    def _has_body(self, word: str, behind: int) -> bool:
        """Whether a call's own structure follows, and not the rest of a sentence."""
        if word in ("<|start|>", "<|channel|>"):
            return _HARMONY.match(self._text, behind) is not None
        if word.endswith("to=functions."):
            return _HARMONY_TAIL.match(self._text, behind) is not None
        if word == "Action:":
            return _ACTION.match(self._text, behind) is not None
        if word.endswith(("｜", "|", "name=", "function=", "call:", ">>>")) or word == _FENCE:
            return self._is_named(behind, near=True)
        if _BODY.match(self._text, behind):
            return True
        return self._is_named(behind, near=True)

    def _is_named(self, behind: int, *, near: bool = False) -> bool:
        """Whether a declared tool's name follows: right behind the opening, or in the head."""
        stop = min(len(self._text), behind + HEAD)
        place = next(self._names.in_text(self._text, behind, stop), None)
        if place is None:
            return not self._names and not near
        if not near:
            return True
        is_near = _BEFORE_NAME.fullmatch(self._text, behind, place.start) is not None
        return is_near and _BEHIND_NAME.match(self._text, place.end) is not None

    def _begins_line(self, start: int, behind: int) -> bool:
        before = self._text[start - 1 : start] if start else "\n"
        return before == "\n" and not self._text[behind : behind + 1].isspace()

    def _end(self, word: str, behind: int) -> int:
        tag = _TAG.match(word)
        if word == _FENCE:
            return self._ends.literal("```", behind)
        if tag and word.startswith("<") and "|" not in word and "｜" not in word:
            end = self._ends.literal(f"</{tag[1]}>", behind)
            return end if end < 0 else self._ends.pass_closers(end)
        body = _FIRST_BRACKET.match(self._text, behind)
        if body is not None:
            end = self._ends.balanced(body.end() - 1)
        else:
            end = self._ends.pattern(_TOKEN_END, behind)
        return end if end < 0 else self._ends.pass_closers(end)

    def _inner(self, word: str, start: int) -> Candidate | None:
        behind = start + len(word)
        if word == "<parameter=" and not _PARAMETER.match(self._text, behind):
            return None
        low = max(0, start - LEAD)
        places = list(self._names.in_text(self._text, low, start))
        begin = (
            places[0].start if places and "`" not in self._text[places[0].start : start] else start
        )
        named = begin < start or self._is_named(behind)
        if not named and not _BODY.match(self._text, behind):
            return Candidate(_INNER[word], start, behind, MENTIONED, named=False)
        end = self._end(word, behind)
        end = max(end, self._ends.pass_closers(behind))
        level = TOKENS if named else WITHOUT_TOOL
        return Candidate(_INNER[word], begin, max(end, self._ends.line(behind)), level, named)

    def _closing(self, word: str, start: int) -> Candidate:
        end = self._ends.pass_closers(start + len(word))
        before = self._text[max(0, start - 64) : start].rstrip()
        level = WITHOUT_TOOL if before.endswith(("}", "]", ">")) else MENTIONED
        return Candidate(_CLOSING[word], start, end, level, named=False)


def _openers() -> dict[str, str]:
    formats: dict[str, str] = {}
    for name, parsers in PARSERS.items():
        for parser in parsers:
            for opener in () if parser.whole else parser.openers:
                formats.setdefault(opener, name)
    return formats


_FORMATS = _openers()
_WORDS = WordSearch({*_FORMATS, *_INNER, *_CLOSING} - {"<answer>"})
