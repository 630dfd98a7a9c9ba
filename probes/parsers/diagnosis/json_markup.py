"""JSON objects that call a declared tool, under whatever keys."""

from __future__ import annotations

import re

from probes.parsers.diagnosis.call_candidates import CallEnds, Candidate
from probes.parsers.diagnosis.declared_names import UNMISTAKABLE
from probes.parsers.diagnosis.name_context import QUOTE, NameContext
from probes.parsers.json_formats.json_calls import ARGUMENT_KEYS, NAME_KEYS
from probes.parsers.markup import ENVELOPE, MENTIONED, UNKNOWN, WITHOUT_TOOL

# Characters before a name in which its object begins.
MAX_HEAD = 400
# Characters of an object that are looked at for its keys.
MAX_KEYS = 2000
# Characters before an object in which the one around it begins.
_MAX_OUTER = 200

_KEY = re.compile(
    rf"(?:^|[{{,\s;:(]|&quot;){QUOTE}?(?P<key>name|tool|tool_?name|function|function_?name|action|call|recipient"
    rf"|recipient_name|command|type|method|api|tool_?call|op){QUOTE}?\s{{0,8}}[:=]\s{{0,8}}{QUOTE}?$",
    re.IGNORECASE,
)
_ARGUMENTS = re.compile(
    rf"{QUOTE}?\b(?P<key>arguments?|args|parameters?|params|inputs?|tool_?input|action_?input|kwargs|payload"
    rf"|tool_code|function_?args){QUOTE}?\s{{0,8}}[:=]",
    re.IGNORECASE,
)
_RECORD = re.compile(
    rf"{QUOTE}(?:status|result|output|response|error|duration_ms|count|calls){QUOTE}\s{{0,8}}:"
)
_DECLARATION = re.compile(
    rf"{QUOTE}(?:description|properties|input_schema|inputSchema){QUOTE}\s{{0,8}}:"
)
_MEMBER = re.compile(rf"[{{,]\s{{0,64}}{QUOTE}?(?P<key>[A-Za-z_]\w{{0,63}}){QUOTE}?\s{{0,8}}:")
_OUTER = re.compile(
    rf"\{{\s{{0,64}}(?:{QUOTE}?\w{{1,32}}{QUOTE}?\s{{0,8}}:\s{{0,8}}{QUOTE}?[^{{}}\"]{{0,64}}{QUOTE}?,\s{{0,64}})?"
    rf"{QUOTE}?(?P<key>function|tool|tool_call|function_call|tool_?calls|tool_uses|actions){QUOTE}?"
    r"\s{0,8}:\s{0,8}\[?\s{0,64}$",
    re.IGNORECASE,
)
_KEY_BEHIND = re.compile(rf"{QUOTE}\s{{0,8}}:\s{{0,8}}\{{")
_KEY_BEFORE = re.compile(rf"\{{\s{{0,64}}{QUOTE}$")
_END_OF_NAME = re.compile(rf"{QUOTE}?\s{{0,64}}[,}}\])\n]|{QUOTE}")


# At the beginning of a text, and with keys and a name that no other data has together.
_UNDECLARED = re.compile(
    r"\s{0,64}(?P<object>\{)\s{0,64}\"(?:name|tool_name|tool|function)\"\s{0,8}:\s{0,8}"
    r"\"(?P<name>[A-Za-z_][\w.:/-]{0,127})\"\s{0,8},\s{0,64}\"arguments\"\s{0,8}:\s{0,8}\{"
)


def find_undeclared_call(ends: CallEnds) -> Candidate | None:
    """`{"name": "get_wether", "arguments": {…`: a call of a tool that is not declared.

    Only where an answer begins with it: in the middle of a text it may be anyone's data.
    """
    match = _UNDECLARED.match(ends.text)
    if match is None or not UNMISTAKABLE.search(match["name"]):
        return None
    start = match.start("object")
    end = ends.balanced(start)
    stop = ends.pass_closers(end) if end >= 0 else len(ends.text)
    return Candidate("json_text", start, stop, WITHOUT_TOOL, named=False, closed=end >= 0)


def json_value_shape(context: NameContext, ends: CallEnds) -> Candidate | None:
    """`{"tool": "get_weather", "tool_input": {…}}`, with any of the usual keys."""
    key = _KEY.search(context.before) or _KEY.search(context.name_before)
    if key is None or not _END_OF_NAME.match(context.after):
        return None
    start = _object_start(ends.text, context.start)
    if start < 0 or not ends.may_look(4 * MAX_KEYS):
        return None
    found = _JsonObject(ends, start)
    if not found.calls(context):
        return None
    outer = found.outer
    begin = found.outer_start if outer else start
    end = max(found.end, ends.balanced(begin)) if outer else found.end
    closed = found.end >= 0
    stop = ends.pass_closers(end) if closed else ends.line(context.end)
    return Candidate(found.format(key["key"]), begin, stop, ENVELOPE, closed=closed)


class _JsonObject:
    """The object that a name stands in, and what of it looks like a call."""

    def __init__(self, ends: CallEnds, start: int) -> None:
        self._ends = ends
        self.end = ends.balanced(start)
        stop = self.end if self.end >= 0 else len(ends.text)
        self._members = ends.text[start : min(stop, start + MAX_KEYS)]
        low = max(0, start - _MAX_OUTER)
        self.outer = _OUTER.search(ends.text[low:start])
        self.outer_start = low + (self.outer.start() if self.outer else 0)
        self._arguments = _ARGUMENTS.search(self._members)

    def calls(self, context: NameContext) -> bool:
        """Whether it is a call: it has arguments, or nothing but the name."""
        if _DECLARATION.search(self._members):
            return False
        if self._arguments or self.outer:
            return True
        keys = {match["key"] for match in _MEMBER.finditer(self._members)}
        has_own = bool(keys & context.place.properties) and not _RECORD.search(self._members)
        return has_own or (len(keys) == 1 and self._ends_line())

    def format(self, key: str) -> str:
        """The format that an object with such keys has."""
        if "&quot;" in self._members:
            return UNKNOWN
        outside = self.outer["key"].lower() if self.outer else ""
        is_known = key in NAME_KEYS
        if self._arguments is not None:
            is_known = is_known and self._arguments["key"] in ARGUMENT_KEYS
        if outside == "tool_calls" and is_known:
            return "xlam"
        is_text = outside in ("", "function") and is_known and (self._arguments or key == "name")
        return "json_text" if is_text else UNKNOWN

    def _ends_line(self) -> bool:
        if self.end < 0:
            return False
        behind = self._ends.text[self.end : self._ends.line(self.end)]
        return not behind.strip(" \t`;,)>")


def json_key_shape(context: NameContext, ends: CallEnds) -> Candidate | None:
    """`{"get_weather": {"city": "Lima"}}`: the name is the key."""
    before = _KEY_BEFORE.search(context.before)
    behind = _KEY_BEHIND.match(context.after)
    if before is None or behind is None:
        return None
    inside = context.end + behind.end() - 1
    inner_end = ends.balanced(inside)
    keys = {
        m["key"]
        for m in _MEMBER.finditer(ends.text, inside, min(inside + MAX_KEYS, max(inner_end, inside)))
    }
    start = context.back(before)
    if not keys & context.place.properties:
        return Candidate(UNKNOWN, start, context.end, MENTIONED)
    end = ends.balanced(start)
    return Candidate(
        UNKNOWN, start, ends.pass_closers(max(end, inner_end)), ENVELOPE, closed=end >= 0
    )


def _object_start(text: str, at: int) -> int:
    """Where the object begins that a name stands in, or -1."""
    depth = 0
    for index in range(at - 1, max(-1, at - MAX_HEAD - 1), -1):
        if text[index] == "}":
            depth += 1
        elif text[index] == "{":
            if depth == 0:
                return index
            depth -= 1
    return -1
