"""Calls of a declared tool that are written as code or as a command."""

from __future__ import annotations

import re

from probes.parsers.diagnosis.call_candidates import CallEnds, Candidate
from probes.parsers.diagnosis.name_context import NameContext
from probes.parsers.markup import CODE, ENVELOPE, MENTIONED, UNKNOWN

# What may stand in a line before a call without making it a sentence.
_LEAD = re.compile(
    r"[\s>*#\-•●→▶⏺\[({<`\"'_@$!/|🔧🛠️]{0,24}"
    r"(?:\d{1,3}[.)]\s{1,4})?"
    r"(?:(?:const|let|var|return|await|yield|async|calls?|calling|invoke|invoking|run|running|execute|use|tool_code|tool|function"
    r"|print|console\.log|tool_codeprint|asyncio\.run|[A-Za-z_]\w{0,40}\s?[:=])[\s(:`*]{0,4}){0,4}"
    r"[\s\[({<`\"'*@$/]{0,8}"
)
_SENTENCE_END = re.compile(r"(?:[.!?:。！？：…]|^|\n|▷|>)[\s*`\"'_({\[]{0,8}$")
_VERB = re.compile(
    r"(?:^|[.!?:\n]\s{0,4}|\bwill\s)(?:call|calling|invoke|invoking|execute|executing)\s{1,4}(?:the\s)?(?:tool\s|function\s)?[`*\"']{0,2}$",
    re.IGNORECASE,
)
# Arguments as a caller writes them: pairs with values, literals, objects, or nothing.
_VALUES = re.compile(
    r"\(\s{0,32}(?:\)|[\"'{\[\d-]|(?:True|False|None|true|false|null)\b|\w{1,64}\s{0,4}=\s{0,4}[\"'{\[\w-]|\w{1,64}\s{0,4}:\s{0,4}[\"'{\[\d])"
)
_ANNOTATION = re.compile(r"\)\s{0,4}(?:->|:\s{0,4}$)")
_OBJECT_BEHIND = re.compile(
    r"[\]\"'`*)_:]{0,6}\s{0,8}(?:\[ARGS\]\s{0,4}|=>\s{0,4}|->\s{0,4}|(?P<word>with|using)\s(?:arguments\s|args\s|parameters\s)?)?"
    r"(?:```\w{0,16}\s{0,8})?\{\s{0,32}(?P<first>[\"'}]|\w{1,64})"
)
_PAIR_BEHIND = re.compile(
    r"(?P<gap>\s{1,4})(?P<dash>--)?(?P<key>[A-Za-z_][\w-]{0,63})(?P<sign>[=:]|\s)\s{0,2}(?P<value>[^\s=])"
)
_YAML_BEHIND = re.compile(
    r":?\s{0,8}\n[ \t]{0,8}(?:- )?(?P<key>[A-Za-z_]\w{0,63})\s{0,4}[:=]\s{0,4}\S"
)
_LISP_BEHIND = re.compile(r"\s{1,4}[:\"'\d]")
_DOUBLE_BEHIND = re.compile(r"[\s(:|][^\]\n]{1,400}\]\]")
_PAIR_IN_BRACKETS = re.compile(r"\s{1,4}\w{1,64}\s?=[^\]\n]{1,400}\]")

_CALL_AND_RESULT = re.compile(r"\([^)\n]{0,400}\)\s{0,4}(?:->|→)[^\]\n]{0,400}\]")

_COMMENT = re.compile(r"//|#")
_CODE_SIGNS = frozenset("<;)]}.")
_LETTER = re.compile(r"\w")


def code_shape(context: NameContext, ends: CallEnds) -> Candidate | None:
    """`get_weather(city="Lima")`."""
    if not context.after.startswith("("):
        return None
    if not _VALUES.match(context.after):
        return Candidate(UNKNOWN, context.start, context.end, MENTIONED)
    close = ends.balanced(context.end)
    end = close if close >= 0 else ends.line(context.end)
    behind = ends.text[end : ends.line(end)]
    is_code = context.before.endswith("{{") or (
        (_stands_alone(context) or context.place.has_namespace)
        and not _goes_on(behind)
        and not _ANNOTATION.match(ends.text, end - 1)
    )
    level = CODE if is_code else MENTIONED
    start, format = context.start, UNKNOWN
    if context.line_before.strip() == "[" and behind.lstrip().startswith("]"):
        start, format = context.start - 1, "pythonic"
    return Candidate(
        format, start, ends.pass_closers(end) if is_code else end, level, closed=close >= 0
    )


def object_shape(context: NameContext, ends: CallEnds) -> Candidate | None:
    """`get_weather {"city": "Lima"}`, `call get_weather with {…}`."""
    behind = _OBJECT_BEHIND.match(context.after)
    if behind is None:
        return None
    is_object = behind["first"] in ('"', "'", "}") or behind["first"] in context.place.properties
    if not is_object:
        return None
    says_with = behind["word"] is not None
    alone = (
        _VERB.search(context.before)
        if says_with
        else _stands_alone(context) or context.place.has_namespace
    )
    brace = context.end + context.after.index("{")
    close = ends.balanced(brace)
    end = close if close >= 0 else ends.line(brace)
    level = CODE if alone else MENTIONED
    return Candidate(UNKNOWN, context.start, ends.pass_closers(end), level, closed=close >= 0)


def command_shape(context: NameContext, ends: CallEnds) -> Candidate | None:
    """`/get_weather city=Lima`, `get_weather --city Lima`, and YAML with the name as its key."""
    if not _is_lead(context):
        return None
    yaml = _YAML_BEHIND.match(context.after)
    if yaml and yaml["key"] in context.place.properties:
        blank = ends.literal("\n\n", context.end)
        end = blank - 2 if blank >= 0 else len(ends.text.rstrip())
        return Candidate(UNKNOWN, context.start, end, CODE)
    pair = _PAIR_BEHIND.match(context.after)
    if pair is None:
        return None
    is_own = pair["key"].replace("-", "_") in context.place.properties
    is_pair = pair["dash"] or pair["sign"] == "="
    if not is_pair and not (is_own and pair["sign"] == ":" and pair["value"] in "\"'0123456789"):
        return None
    is_marked = context.line_before.endswith(("/", "$", "$ ", "@", "!"))
    level = CODE if is_own or is_marked else MENTIONED
    return Candidate(UNKNOWN, context.start, ends.line(context.end), level)


def bracket_shape(context: NameContext, ends: CallEnds) -> Candidate | None:
    """`[[get_weather city=Lima]]`, `[get_weather city="Lima"]`, `(get_weather :city "Lima")`."""
    before = context.before
    if before.endswith("[[") and (rest := _DOUBLE_BEHIND.match(context.after)):
        return Candidate(UNKNOWN, context.start - 2, context.end + rest.end(), ENVELOPE)
    if before.endswith("[") and (rest := _PAIR_IN_BRACKETS.match(context.after)):
        return Candidate(UNKNOWN, context.start - 1, context.end + rest.end(), ENVELOPE)
    if before.endswith("[") and (rest := _CALL_AND_RESULT.match(context.after)):
        return Candidate(UNKNOWN, context.start - 1, context.end + rest.end(), ENVELOPE)
    if not before.endswith("(") or not _LISP_BEHIND.match(context.after):
        return None
    end = ends.balanced(context.start - 1)
    alone = _is_lead(context) and end >= 0 and not _goes_on(ends.text[end : ends.line(end)])
    return Candidate(
        UNKNOWN, context.start - 1, max(end, context.end), CODE if alone else MENTIONED
    )


def _stands_alone(context: NameContext) -> bool:
    return _is_lead(context) or _SENTENCE_END.search(context.before) is not None


def _is_lead(context: NameContext) -> bool:
    return _LEAD.fullmatch(context.line_before) is not None


def _goes_on(behind: str) -> bool:
    """Whether a sentence goes on behind a call in the same line."""
    rest = _COMMENT.split(behind, maxsplit=1)[0].strip()
    return bool(rest) and rest[0] not in _CODE_SIGNS and _LETTER.search(rest, 0, 80) is not None
