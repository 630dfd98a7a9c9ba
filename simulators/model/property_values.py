"""The values that a text states for the properties of a schema, in any wording."""

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
MAX_STATED_VALUES = 200
_CONNECTOR = re.compile(
    # Words between the name and its value: `to give it is`, `that it gets should be`.
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
# Words that no value starts with.
# fmt: off
_EMPTY_WORDS = frozenset({
    "and", "or", "must", "should", "shall", "character", "exactly", "verbatim", "as", "in", "is",
    "are", "be", "with", "argument", "arguments", "that", "which", "you", "your", "below",
    "above", "intact", "unchanged", "here", "it", "given", "shown", "written", "follows", "the",
    "to", "from", "for", "into", "under", "back", "only", "between", "without", "again",
    "together", "accordingly", "told", "asked", "needed", "instructed", "suggested", "required",
})
# fmt: on
# One word, and then another instruction.
_NEXT_CLAUSE = re.compile(r"(\S+)\s+and\s+\w+\s+\w+")
_BLANK = re.compile(r"[ \t\r]*(?:\n|\Z)")
_FENCE = re.compile(r"\s*```[^\n]*\n(.*?)\n?```", re.S)


@dataclass(frozen=True, slots=True)
class StatedValue:
    """One place where the text states a property's value."""

    name: str
    start: int
    end: int
    text: str
    strength: int


def read_value_groups(text: str, schema: Schema) -> list[ValueGroup]:
    """Every group of values in the text, in order; a repeated property starts a new group."""
    text = text[:MAX_TEXT]
    names = _flatten_properties(schema)
    if not names:
        return []
    if embedded := [*read_json_objects(text, names), *read_table_rows(text, names, schema)]:
        return embedded
    groups: list[ValueGroup] = []
    for stated in _select_stated_values(text, names, schema):
        if not groups or stated.name in groups[-1]:
            groups.append({})
        groups[-1][stated.name] = convert_value(stated.text, names[stated.name], schema)
    return [_nest_group(group) for group in _share_values(groups)]


def _flatten_properties(schema: Schema) -> dict[str, Schema]:
    """The properties, and those of inner objects under dotted names."""
    flattened: dict[str, Schema] = {}
    for name, rules in properties(schema, schema).items():
        flattened[name] = rules
        for inner, inner_rules in properties(resolve(rules, schema), schema).items():
            flattened[f"{name}.{inner}"] = inner_rules
    return flattened


def _nest_group(group: ValueGroup) -> ValueGroup:
    nested: ValueGroup = {}
    for name, value in group.items():
        outer, _, inner = name.partition(".")
        outer_value = nested.get(outer)
        if inner:
            nested[outer] = {
                **(outer_value if isinstance(outer_value, Mapping) else {}),
                inner: value,
            }
        else:
            nested[outer] = value
    return nested


def _share_values(groups: list[ValueGroup]) -> list[ValueGroup]:
    """A value that is stated once for several calls applies to all of them."""
    counts: dict[str, int] = {}
    for group in groups:
        for name in group:
            counts[name] = counts.get(name, 0) + 1
    shared = {name: value for group in groups for name, value in group.items() if counts[name] == 1}
    return [{**shared, **group} for group in groups]


def _select_stated_values(
    text: str, names: Mapping[str, Schema], schema: Schema
) -> list[StatedValue]:
    """The strongest statements of each property, none of them inside another's value."""
    candidates = [
        stated
        for name, rules in names.items()
        for stated in islice(_find_stated_values(text, name, list(names)), MAX_STATED_VALUES)
        # A weak statement that does not fit the schema was about something else.
        if stated.strength > 2 or fits_schema(stated.text, rules, schema)
    ]
    best = {stated.name: 0 for stated in candidates}
    for stated in candidates:
        best[stated.name] = max(best[stated.name], stated.strength)
    kept: list[StatedValue] = []
    strongest = [stated for stated in candidates if stated.strength == best[stated.name]]
    for stated in sorted(strongest, key=lambda item: (-item.strength, item.start)):
        if not any(other.start < stated.start < other.end for other in kept):
            kept.append(stated)
    return sorted(kept, key=lambda item: item.start)


def _find_stated_values(text: str, name: str, names: list[str]) -> Iterator[StatedValue]:
    regex = _name_pattern(name)
    for mention in re.finditer(rf"(?<![\w.])[`\"'*]{{0,3}}{regex}[`\"'*]{{0,3}}(?!\w)", text, re.I):
        if (stated := _read_after_name(text, mention, name, names)) is not None:
            yield stated
    pattern = (
        rf"(?:\bas|\bfor)\s+(?:(?:the|its|your|a)\s+)?[`\"'*]{{0,3}}{regex}[`\"'*]{{0,3}}(?!\w)"
    )
    for mention in re.finditer(pattern, text, re.I):
        if (stated := _read_before_name(text, mention.start(), name)) is not None:
            yield stated


def _name_pattern(name: str) -> str:
    return re.escape(name).replace("_", "[_ ]")


def _read_after_name(
    text: str, mention: re.Match[str], name: str, names: list[str]
) -> StatedValue | None:
    """The value after the property's name."""
    connector = _CONNECTOR.match(text, mention.end())
    assert connector is not None
    word = (connector.group("word") or "").strip()
    start, begin = mention.start(), connector.end()
    before = text[text.rfind("\n", 0, start) + 1 : start]
    leads = _LINE_HEAD.match(before) is not None
    if word in _SYMBOLS and _BLANK.match(text, begin):
        return _read_next_line(text, start, begin, name)
    if begin < len(text) and text[begin] in "{[":
        return _read_json_value(text, start, begin, name)
    if word in _SYMBOLS and leads:
        end = _find_line_end(text, begin, names)
        value = text[begin:end].strip().rstrip("|" if word == "|" else "").strip()
        return StatedValue(name, start, end, value, 4)
    close = find_closing_quote(text, begin) if begin < len(text) and text[begin] in QUOTES else None
    if close is not None:
        return StatedValue(name, start, close + 1, text[begin + 1 : close], 3)
    stated = None if word in _SYMBOLS else _read_announced_value(text, start, begin, name, names)
    if stated is None and (word in _SYMBOLS or leads or _INTRODUCED.search(before)):
        stated = _read_bare_value(text, start, begin, name, names)
    return replace(stated, strength=2) if stated and word and stated.strength < 2 else stated


def _read_bare_value(
    text: str, start: int, begin: int, name: str, names: list[str]
) -> StatedValue | None:
    """An unquoted value in a sentence, up to the next property or the sentence's end."""
    stop = _SENTENCE_END.search(text, begin)
    end = stop.start() if stop else len(text)
    others = "|".join(_name_pattern(other) for other in names)
    lead = r"(?:\s*[,;]\s*|\s+)(?:(?:and|with|the|its|a|set|as well as|plus)\s+)*"
    following = re.compile(
        rf"{lead}[`\"'*]*(?:{others})\b|,\s|\s+(?:as|for)\s+(?:the\s+|its\s+)?[`\"']*(?:{others})\b",
        re.I,
    ).search(text, begin, end)
    if following:
        end = following.start()
    value = re.sub(r"\s+and\Z", "", text[begin:end].strip().removeprefix("("))
    if clause := _NEXT_CLAUSE.match(value):
        value = clause.group(1)
    if not value or value.split()[0].lower().strip(",.") in _EMPTY_WORDS - {"the", "it"}:
        return None
    return StatedValue(name, start, end, value, 1)


def _read_json_value(text: str, start: int, begin: int, name: str) -> StatedValue | None:
    try:
        _, end = DECODER.raw_decode(text, begin)
    except (ValueError, RecursionError):
        return None
    return StatedValue(name, start, end, text[begin:end], 4)


def _read_next_line(text: str, start: int, begin: int, name: str) -> StatedValue | None:
    """A value below its name: in a fence, or on the next line."""
    if fence := _FENCE.match(text, begin):
        return StatedValue(name, start, fence.end(), fence.group(1), 4)
    rest = text[begin:].lstrip()
    line = rest.split("\n", 1)[0].strip()
    end = len(text) - len(rest) + len(line)
    return StatedValue(name, start, end, line.lstrip("> "), 4) if line else None


def _read_announced_value(
    text: str, start: int, begin: int, name: str, names: list[str]
) -> StatedValue | None:
    """A value after the colon of an announcing sentence, unless that names other properties."""
    announced = find_announced_value(text, begin)
    if announced is None:
        return None
    others = rf"\b(?:{'|'.join(_name_pattern(other) for other in names)})\b"
    names_others = re.match(rf"\W*{others}\W*[:=|]", announced.text, re.I)
    is_shared = re.search(others, text[start + len(name) : announced.start], re.I)
    if names_others or is_shared:
        return None
    return StatedValue(name, start, announced.end, announced.text, 2)


def _find_line_end(text: str, begin: int, names: list[str]) -> int:
    end = text.find("\n", begin)
    end = len(text) if end < 0 else end
    others = "|".join(_name_pattern(other) for other in names)
    next_one = re.compile(rf"(?:\s*[,;]|\s+and|\s)\s*[`\"'*]*(?:{others})[`\"'*]*\s*[:=]", re.I)
    match = next_one.search(text, begin, end)
    return match.start() if match else end


def _read_before_name(text: str, end: int, name: str) -> StatedValue | None:
    """The value before a phrase such as `as the message`."""
    head = text[max(0, end - 2000) : end].rstrip()
    offset = max(0, end - 2000)
    for opened in re.finditer(r"(?<!\w)[\"'`“«‘]", head):
        if find_closing_quote(head, opened.start()) == len(head) - 1:
            return StatedValue(name, offset + opened.start(), end, head[opened.end() : -1], 3)
    verb = r"(?:pass|use|using|with|send|give|put|supply|and|,|:)\s+"
    bare = re.search(rf"{verb}((?:(?!\b(?:as|for)\b)[^,;\"\n]){{1,200}})\Z", head, re.I)
    if bare is None or bare.group(1).split()[0].lower() in _EMPTY_WORDS:
        return None
    value = re.split(rf"\b{verb}", bare.group(1), flags=re.I)[-1]
    return StatedValue(name, offset + bare.start(1), end, value.strip(), 2)
