"""Which of the declared tools a text asks for, how often and with which arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from probes.messages import JSON, ToolSpec
from simulators.minds.saying import Group, quoted, said_groups
from simulators.minds.typed import Schema, alternatives, properties, required

_CALLING = r"(?:call|calling|use|using|invoke|invoking|run|running|touch|touching)"
_NOT = r"(?:do not|don't|don’t|never|without|avoid|no need to|must not|should not|not to)"
_NO_TOOLS = re.compile(
    rf"\b{_NOT}\s+(?:\w+\s+){{0,2}}?{_CALLING}\s+(?:(?:a|any|the|your|these|those|of)\s+)*"
    r"(?:tools?|functions?|it|them|anything)\b(?!\s+(?:other|except|besides|but|twice|again|more))"
    r"|\bno (?:tool|function)(?: call)?s?\b(?!\s+(?:other|except|besides|but))",
    re.I,
)
_ASKS = re.compile(rf"\b{_CALLING}\b|\b(?:tool|function|please)\b", re.I)
_EXPLAINS = re.compile(r"\b(?:what|how|why|which|explain|describe|tell me|summari[sz]e)\b", re.I)
_ONCE = re.compile(
    r"(?<!at )\bonce\b(?!\s+(?:with|you|for))|\bone time\b|\bsingle (?:\w+ )?call\b|\bone call\b",
    re.I,
)
_GENERIC = frozenset({"probe", "tool", "get", "set", "the", "run", "do", "make"})
_INTEGER = re.compile(r"(?<![\w.])[-+]?\d{1,18}(?![\w]|\.\d)")


@dataclass(frozen=True, slots=True)
class Wish:
    """A call that is asked for."""

    tool: ToolSpec
    arguments: Mapping[str, JSON]

    @property
    def as_text(self) -> str:
        """The call the way many models write it into their text."""
        shown = {"name": self.tool.name, "arguments": self.arguments}
        return f"<tool_call>\n{json.dumps(shown, ensure_ascii=False)}\n</tool_call>"


@dataclass(frozen=True, slots=True)
class _Mention:
    tool: ToolSpec
    start: int
    end: int


def read_wishes(text: str, tools: Sequence[ToolSpec]) -> list[Wish]:
    """The calls that a text asks for, in the order it names them."""
    if not tools or _NO_TOOLS.search(text):
        return []
    mentions = _mentions(text, tools)
    if not mentions:
        hinted = _hinted(text, tools)
        return _of_segment(hinted, text, text) if hinted else []
    wishes: list[Wish] = []
    told: set[str] = set()
    for index, mention in enumerate(mentions):
        begin = mentions[index - 1].end if index else 0
        end = mentions[index + 1].start if index + 1 < len(mentions) else len(text)
        ahead = text[mention.start if index else 0 : end]
        found = _whole_wishes(mention.tool, ahead)
        if not found and mention.tool.name not in told:
            # The values may stand before the tool's name.
            found = _of_segment(mention.tool, text[begin:end], text)
        told.add(mention.tool.name)
        wishes += found
    return _first_of_each(wishes) if _ONCE.search(text) else wishes


def call_anyway(text: str, tool: ToolSpec) -> Wish:
    """A call of a tool that must be called, with what the text says for it."""
    found = _of_segment(tool, text, text)
    return found[0] if found else Wish(tool, {})


def _first_of_each(wishes: Sequence[Wish]) -> list[Wish]:
    """`Exactly once` may be said of each tool; the same arguments again are the same call."""
    chosen: dict[str, Wish] = {}
    for wish in wishes:
        chosen.setdefault(wish.tool.name, wish)
    several = len(chosen) > 1 or len(wishes) < 2
    return list(chosen.values()) if several else list(wishes)[:1]


def _mentions(text: str, tools: Sequence[ToolSpec]) -> list[_Mention]:
    found = []
    for tool in tools:
        name = re.escape(tool.name)
        refused = re.compile(
            rf"(?:\b{_NOT}\s+(?:\w+\s+){{0,3}}?{_CALLING}\s+(?:\w+\s+){{0,4}}"
            rf"|\b(?:not|instead of|rather than)\s+(?:the\s+)?(?:tool\s+)?)[`\"'*]*{name}\Z",
            re.I,
        )
        for match in re.finditer(rf"(?<![\w-]){name}(?![\w-])", text):
            head = text[max(0, match.start() - 120) : match.end()]
            if not refused.search(head):
                found.append(_Mention(tool, match.start(), match.end()))
    return sorted(found, key=lambda mention: mention.start)


def _hinted(text: str, tools: Sequence[ToolSpec]) -> ToolSpec | None:
    """The tool that a text means without naming it, where it clearly asks for one."""
    if not re.search(r"\b(?:tool|function)\b", text, re.I):
        return None
    words = set(re.findall(r"[a-z]+", text.lower()))
    for tool in tools:
        own = set(re.findall(r"[a-z]+", tool.name.lower())) - _GENERIC
        if own and own <= words:
            return tool
    asked = len(tools) == 1 and said_groups(text, tools[0].schema or {})
    return tools[0] if asked else None


def _of_segment(tool: ToolSpec, segment: str, text: str) -> list[Wish]:
    """The calls that a part of the text asks for, or one with what is known of it."""
    if whole := _whole_wishes(tool, segment):
        return whole
    needed = required(tool.schema or {})
    explained = needed and _EXPLAINS.search(text) and not re.search(rf"\b{_CALLING}\b", text, re.I)
    if explained or not _ASKS.search(text):
        return []
    schema: Schema = tool.schema or {}
    known = _guessed(segment, schema, said_groups(segment, schema)) or [{}]
    return [Wish(tool, _ordered(known[0], schema))]


def _whole_wishes(tool: ToolSpec, segment: str) -> list[Wish]:
    """The calls for which all that the schema needs is said."""
    schema: Schema = tool.schema or {}
    needed = {name for name in required(schema) if name in properties(schema, schema)}
    groups = _guessed(segment, schema, said_groups(segment, schema))
    return [Wish(tool, _ordered(group, schema)) for group in groups if needed <= set(group)]


def _ordered(group: Group, schema: Schema) -> Group:
    return {name: group[name] for name in properties(schema, schema) if name in group}


def _guessed(segment: str, schema: Schema, groups: list[Group]) -> list[Group]:
    """The groups with what was said without a name: options, quoted texts, numbers."""
    rules = properties(schema, schema)
    missing = [name for name in rules if not any(name in group for group in groups)]
    lists = {name: values for name in missing if (values := _loose(segment, rules[name], schema))}
    texts = [name for name in missing if _is_text(rules[name], schema)]
    if len(texts) == 1 and (quotes := quoted(segment)):
        lists[texts[0]] = [*quotes]
    numbers = [name for name in missing if _is_number(rules[name], schema)]
    spoken = [int(number) for number in _INTEGER.findall(segment)]
    for place, name in enumerate(numbers):
        if len(spoken) >= len(numbers):
            lists[name] = [*spoken[place :: len(numbers)]]
    count = len(groups) or (len(lists[texts[0]]) if len(texts) == 1 and texts[0] in lists else 1)
    blank = groups or [{} for _ in range(count)]
    return [
        group | {name: values[min(i, len(values) - 1)] for name, values in lists.items()}
        for i, group in enumerate(blank)
        if group or lists
    ]


def _loose(segment: str, rules: Schema, schema: Schema) -> list[JSON]:
    """The options of an enumeration that the text names, in order."""
    options = [option for plain in alternatives(rules, schema) for option in _options(plain)]
    found: list[tuple[int, JSON]] = []
    for option in options:
        pattern = rf"(?<!\w){re.escape(str(option))}(?!\w)"
        found += [(match.start(), option) for match in re.finditer(pattern, segment, re.I)]
    return [option for _, option in sorted(found, key=lambda item: item[0])]


def _options(schema: Schema) -> list[JSON]:
    options = schema.get("enum")
    return [option for option in options if option is not None] if isinstance(options, list) else []


def _is_text(rules: Schema, schema: Schema) -> bool:
    plain = alternatives(rules, schema)
    return any(option.get("type") == "string" and not _options(option) for option in plain)


def _is_number(rules: Schema, schema: Schema) -> bool:
    return any(
        option.get("type") in ("integer", "number") for option in alternatives(rules, schema)
    )
