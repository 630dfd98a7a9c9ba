"""The values that a text gives to the properties of a schema, by whatever wording."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from simulators.model.announced_value import find_announced_value
from simulators.model.embedded_data import ValueGroup, read_json_objects, read_table_rows
from simulators.model.quotes import find_closing_quote
from simulators.model.schema_values import (
    DECODER,
    QUOTES,
    Schema,
    convert_value,
    fits_schema,
    properties,
    resolve,
)

MAX_TEXT = 200_000
MAX_SAYINGS = 200
_CONNECTOR = re.compile(
    # What is said about it before its value comes: `to give it is`, `that it gets should be`.
    r"(?:[ \t]+(?:to|that|which|you|for|of)(?:[ \t]+\w+){1,4}?"
    r"(?=[ \t]+(?:is|should|must|shall|has to|needs to)\b))?"
    r"[ \t]*(?:\((?:string|text|integer|number|boolean|required)\)[ \t]*)?"
    r"(?:(?:argument|parameter|field|property|value|text)[ \t]+)?"
    r"(?P<word>:=|=>|->|→|:|=|\||(?:should|must|shall|has to|needs to)[ \t]+(?:be|equal|say|read)\b"
    r"(?:[ \t]+set[ \t]+to\b)?|(?:set|equal)[ \t]+to\b|equals\b|(?:to[ \t]+)?be\b|to\b|of\b|as\b"
    r"|is\b|being\b|reads\b|reading\b|saying\b)?"
    r"[ \t]*(?:(?:exactly|precisely|literally|"
    r"the[ \t]+(?:exact[ \t]+)?(?:text|string|value|word|phrase|number|integer))\b:?[ \t]*)?"
)
_SYMBOLS = frozenset({":=", "=>", "->", "→", ":", "=", "|"})
_LINE_HEAD = re.compile(r"[\s\-*•>#|+(\d.)]*\Z")
_INTRODUCED = re.compile(
    r"(?:\b(?:with|and|set|using|use|a|an|the|its|whose|for|let|argument|parameter)|[,;(:])\s*\Z",
    re.I,
)
_SENTENCE_END = re.compile(r"[.!?](?=\s|\Z)|[;)\n]")
# What no value begins with.
# fmt: off
_EMPTY_WORDS = frozenset({
    "and", "or", "must", "should", "shall", "character", "exactly", "verbatim", "as", "in", "is",
    "are", "be", "with", "argument", "arguments", "that", "which", "you", "your", "below",
    "above", "intact", "unchanged", "here", "it", "given", "shown", "written", "follows", "the",
    "to", "from", "for", "into", "under", "back", "only", "between", "without", "again",
    "together", "accordingly", "told", "asked", "needed", "instructed", "suggested", "required",
})
# fmt: on
# One word, and then what else to do.
_NEXT_CLAUSE = re.compile(r"(\S+)\s+and\s+\w+\s+\w+")
_BLANK = re.compile(r"[ \t\r]*(?:\n|\Z)")
_FENCE = re.compile(r"\s*```[^\n]*\n(.*?)\n?```", re.S)


@dataclass(frozen=True, slots=True)
class StatedValue:
    """One place where a property is given a value."""

    name: str
    start: int
    end: int
    said: str
    strength: int


def read_value_groups(text: str, schema: Schema) -> list[ValueGroup]:
    """Every set of values in the text, in order; a property that is said again opens a new one."""
    text = text[:MAX_TEXT]
    names = _flat(schema)
    if not names:
        return []
    if found := [*read_json_objects(text, names), *read_table_rows(text, names, schema)]:
        return found
    groups: list[ValueGroup] = []
    for saying in _settled(text, names, schema):
        if not groups or saying.name in groups[-1]:
            groups.append({})
        groups[-1][saying.name] = convert_value(saying.said, names[saying.name], schema)
    return [_nested(group) for group in _shared(groups)]


def _flat(schema: Schema) -> dict[str, Schema]:
    """The properties, and those of inner objects under dotted names."""
    found: dict[str, Schema] = {}
    for name, rules in properties(schema, schema).items():
        found[name] = rules
        for inner, inner_rules in properties(resolve(rules, schema), schema).items():
            found[f"{name}.{inner}"] = inner_rules
    return found


def _nested(group: ValueGroup) -> ValueGroup:
    whole: ValueGroup = {}
    for name, value in group.items():
        outer, _, inner = name.partition(".")
        held = whole.get(outer)
        if inner:
            whole[outer] = {**(held if isinstance(held, Mapping) else {}), inner: value}
        else:
            whole[outer] = value
    return whole


def _shared(groups: list[ValueGroup]) -> list[ValueGroup]:
    """A value that is said once for several calls holds for all of them."""
    counts: dict[str, int] = {}
    for group in groups:
        for name in group:
            counts[name] = counts.get(name, 0) + 1
    once = {name: value for group in groups for name, value in group.items() if counts[name] == 1}
    return [{**once, **group} for group in groups]


def _settled(text: str, names: Mapping[str, Schema], schema: Schema) -> list[StatedValue]:
    """The sayings that stand: the clearest of each property, none inside another's value."""
    every = [
        saying
        for name, rules in names.items()
        for saying in islice(_sayings(text, name, list(names)), MAX_SAYINGS)
        # Loose words that the schema does not take were about something else.
        if saying.strength > 2 or fits_schema(saying.said, rules, schema)
    ]
    best = {saying.name: 0 for saying in every}
    for saying in every:
        best[saying.name] = max(best[saying.name], saying.strength)
    kept: list[StatedValue] = []
    clear = [saying for saying in every if saying.strength == best[saying.name]]
    for saying in sorted(clear, key=lambda item: (-item.strength, item.start)):
        if not any(other.start < saying.start < other.end for other in kept):
            kept.append(saying)
    return sorted(kept, key=lambda item: item.start)


def _sayings(text: str, name: str, names: list[str]) -> Iterator[StatedValue]:
    spelled = _spelled(name)
    for mention in re.finditer(
        rf"(?<![\w.])[`\"'*]{{0,3}}{spelled}[`\"'*]{{0,3}}(?!\w)", text, re.I
    ):
        if (saying := _behind(text, mention, name, names)) is not None:
            yield saying
    pattern = (
        rf"(?:\bas|\bfor)\s+(?:(?:the|its|your|a)\s+)?[`\"'*]{{0,3}}{spelled}[`\"'*]{{0,3}}(?!\w)"
    )
    for mention in re.finditer(pattern, text, re.I):
        if (saying := _before(text, mention.start(), name)) is not None:
            yield saying


def _spelled(name: str) -> str:
    return re.escape(name).replace("_", "[_ ]")


def _behind(text: str, mention: re.Match[str], name: str, names: list[str]) -> StatedValue | None:
    """What follows the property's name."""
    connector = _CONNECTOR.match(text, mention.end())
    assert connector is not None
    word = (connector.group("word") or "").strip()
    start, begin = mention.start(), connector.end()
    before = text[text.rfind("\n", 0, start) + 1 : start]
    leads = _LINE_HEAD.match(before) is not None
    if word in _SYMBOLS and _BLANK.match(text, begin):
        return _next_line(text, start, begin, name)
    if begin < len(text) and text[begin] in "{[":
        return _structured(text, start, begin, name)
    if word in _SYMBOLS and leads:
        end = _line_end(text, begin, names)
        said = text[begin:end].strip().rstrip("|" if word == "|" else "").strip()
        return StatedValue(name, start, end, said, 4)
    close = find_closing_quote(text, begin) if begin < len(text) and text[begin] in QUOTES else None
    if close is not None:
        return StatedValue(name, start, close + 1, text[begin + 1 : close], 3)
    found = None if word in _SYMBOLS else _announced(text, start, begin, name, names)
    if found is None and (word in _SYMBOLS or leads or _INTRODUCED.search(before)):
        found = _bare(text, start, begin, name, names)
    return replace(found, strength=2) if found and word and found.strength < 2 else found


def _bare(text: str, start: int, begin: int, name: str, names: list[str]) -> StatedValue | None:
    """An unquoted value in a sentence, up to the next property or the sentence's end."""
    stop = _SENTENCE_END.search(text, begin)
    end = stop.start() if stop else len(text)
    others = "|".join(_spelled(other) for other in names)
    lead = r"(?:\s*[,;]\s*|\s+)(?:(?:and|with|the|its|a|set|as well as|plus)\s+)*"
    following = re.compile(
        rf"{lead}[`\"'*]*(?:{others})\b|,\s|\s+(?:as|for)\s+(?:the\s+|its\s+)?[`\"']*(?:{others})\b",
        re.I,
    ).search(text, begin, end)
    if following:
        end = following.start()
    said = re.sub(r"\s+and\Z", "", text[begin:end].strip().removeprefix("("))
    if clause := _NEXT_CLAUSE.match(said):
        said = clause.group(1)
    if not said or said.split()[0].lower().strip(",.") in _EMPTY_WORDS - {"the", "it"}:
        return None
    return StatedValue(name, start, end, said, 1)


def _structured(text: str, start: int, begin: int, name: str) -> StatedValue | None:
    try:
        _, end = DECODER.raw_decode(text, begin)
    except (ValueError, RecursionError):
        return None
    return StatedValue(name, start, end, text[begin:end], 4)


def _next_line(text: str, start: int, begin: int, name: str) -> StatedValue | None:
    """A value below its name: in a fence, or on the next line."""
    if fence := _FENCE.match(text, begin):
        return StatedValue(name, start, fence.end(), fence.group(1), 4)
    rest = text[begin:].lstrip()
    line = rest.split("\n", 1)[0].strip()
    end = len(text) - len(rest) + len(line)
    return StatedValue(name, start, end, line.lstrip("> "), 4) if line else None


def _announced(
    text: str, start: int, begin: int, name: str, names: list[str]
) -> StatedValue | None:
    """A value behind the colon of a sentence that announces it, unless others are named there."""
    found = find_announced_value(text, begin)
    if found is None:
        return None
    others = rf"\b(?:{'|'.join(_spelled(other) for other in names)})\b"
    names_others = re.match(rf"\W*{others}\W*[:=|]", found.said, re.I)
    is_shared = re.search(others, text[start + len(name) : found.start], re.I)
    if names_others or is_shared:
        return None
    return StatedValue(name, start, found.end, found.said, 2)


def _line_end(text: str, begin: int, names: list[str]) -> int:
    end = text.find("\n", begin)
    end = len(text) if end < 0 else end
    others = "|".join(_spelled(other) for other in names)
    next_one = re.compile(rf"(?:\s*[,;]|\s+and|\s)\s*[`\"'*]*(?:{others})[`\"'*]*\s*[:=]", re.I)
    found = next_one.search(text, begin, end)
    return found.start() if found else end


def _before(text: str, end: int, name: str) -> StatedValue | None:
    """What stands before `as the message`."""
    head = text[max(0, end - 2000) : end].rstrip()
    offset = max(0, end - 2000)
    for opened in re.finditer(r"(?<!\w)[\"'`“«‘]", head):
        if find_closing_quote(head, opened.start()) == len(head) - 1:
            return StatedValue(name, offset + opened.start(), end, head[opened.end() : -1], 3)
    verb = r"(?:pass|use|using|with|send|give|put|supply|and|,|:)\s+"
    bare = re.search(rf"{verb}((?:(?!\b(?:as|for)\b)[^,;\"\n]){{1,200}})\Z", head, re.I)
    if bare is None or bare.group(1).split()[0].lower() in _EMPTY_WORDS:
        return None
    said = re.split(rf"\b{verb}", bare.group(1), flags=re.I)[-1]
    return StatedValue(name, offset + bare.start(1), end, said.strip(), 2)
