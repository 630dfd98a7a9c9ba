"""Which of the declared tools a text asks for, how often and with which arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from probes.messages import JSON, ToolSpec
from simulators.model.embedded_data import ValueGroup, read_json_objects
from simulators.model.property_values import read_value_groups
from simulators.model.schema_values import Schema, properties, required
from simulators.model.tool_bans import CALLING, first_ban, is_refused, without_bans
from simulators.model.unnamed_values import guess_values

_ASKS = re.compile(
    rf"\b{CALLING}\b|\b(?:tool|function|please|once|(?:one|single) time)\b"
    r"|\b(?:ask|query|check|try|execute|arguments?|args|parameters?|input)\b",
    re.I,
)
_EXPLAINS = re.compile(r"\b(?:what|how|why|which|explain|describe|tell me|summari[sz]e)\b", re.I)
_ONCE = re.compile(
    r"(?<!at )\bonce\b(?!\s+(?:with|you|for))|\bone time\b|\bsingle (?:\w+ )?call\b|\bone call\b",
    re.I,
)
_GENERIC = frozenset({"probe", "tool", "get", "set", "the", "run", "do", "make"})


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A call that is asked for."""

    tool: ToolSpec
    arguments: Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class _Mention:
    tool: ToolSpec
    start: int
    end: int


def read_tool_requests(text: str, tools: Sequence[ToolSpec]) -> list[ToolRequest]:
    """The calls that a text asks for, in the order it names them."""
    mentions = _mentions(text, tools)
    ban = first_ban(text)
    if ban is not None and (not mentions or ban < mentions[0].start):
        return []
    if ban is not None:
        # Behind a call that is asked for, it is the rest that has to do without tools.
        text = without_bans(text)
    if not mentions:
        hinted = _hinted(text, tools)
        return _of_segment(hinted, text, text) if hinted else []
    tool_requests = _of_objects(text, mentions) or _of_mentions(text, mentions)
    return _first_of_each(tool_requests) if _ONCE.search(text) else tool_requests


def force_tool_request(text: str, tool: ToolSpec) -> ToolRequest:
    """A call of a tool that must be called, with what the text says for it."""
    found = _of_segment(tool, text, text)
    return found[0] if found else ToolRequest(tool, {})


def _first_of_each(tool_requests: Sequence[ToolRequest]) -> list[ToolRequest]:
    """`Exactly once` may be said of each tool; the same arguments again are the same call."""
    chosen: dict[str, ToolRequest] = {}
    for tool_request in tool_requests:
        chosen.setdefault(tool_request.tool.name, tool_request)
    several = len(chosen) > 1 or len(tool_requests) < 2
    return list(chosen.values()) if several else list(tool_requests)[:1]


def _of_objects(text: str, mentions: Sequence[_Mention]) -> list[ToolRequest]:
    """The calls whose arguments stand in the text as JSON, where each fits one of the tools."""
    tools = list({mention.tool.name: mention.tool for mention in mentions}.values())
    names: dict[str, Schema] = {name: {} for tool in tools for name in _properties(tool)}
    tool_requests: list[ToolRequest] = []
    for group in read_json_objects(text, names):
        fitting = [tool for tool in tools if _fits(group, tool)]
        if len(fitting) != 1:
            return []
        tool_requests.append(ToolRequest(fitting[0], _ordered(group, fitting[0].schema or {})))
    everyone = {tool_request.tool.name for tool_request in tool_requests} == {
        tool.name for tool in tools
    }
    return tool_requests if everyone else []


def _properties(tool: ToolSpec) -> Mapping[str, Schema]:
    schema: Schema = tool.schema or {}
    return properties(schema, schema)


def _fits(group: ValueGroup, tool: ToolSpec) -> bool:
    return set(required(tool.schema or {})) <= set(group) <= set(_properties(tool))


def _of_mentions(text: str, mentions: Sequence[_Mention]) -> list[ToolRequest]:
    """The calls of the tools that a text names, with what it says near their names."""
    tool_requests: list[ToolRequest] = []
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
        tool_requests += found
    return tool_requests


def _mentions(text: str, tools: Sequence[ToolSpec]) -> list[_Mention]:
    found = [
        _Mention(tool, match.start(), match.end())
        for tool in tools
        for match in re.finditer(rf"(?<![\w-]){re.escape(tool.name)}(?![\w-])", text)
        if not is_refused(text, match)
    ]
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
    asked = len(tools) == 1 and read_value_groups(text, tools[0].schema or {})
    return tools[0] if asked else None


def _of_segment(tool: ToolSpec, segment: str, text: str) -> list[ToolRequest]:
    """The calls that a part of the text asks for, or one with what is known of it."""
    if whole := _whole_wishes(tool, segment):
        return whole
    needed = required(tool.schema or {})
    explained = needed and _EXPLAINS.search(text) and not re.search(rf"\b{CALLING}\b", text, re.I)
    if explained or not _ASKS.search(text):
        return []
    schema: Schema = tool.schema or {}
    known = guess_values(segment, schema, read_value_groups(segment, schema)) or [{}]
    return [ToolRequest(tool, _ordered(known[0], schema))]


def _whole_wishes(tool: ToolSpec, segment: str) -> list[ToolRequest]:
    """The calls for which all that the schema needs is said."""
    schema: Schema = tool.schema or {}
    needed = {name for name in required(schema) if name in properties(schema, schema)}
    groups = guess_values(segment, schema, read_value_groups(segment, schema))
    return [ToolRequest(tool, _ordered(group, schema)) for group in groups if needed <= set(group)]


def _ordered(group: ValueGroup, schema: Schema) -> ValueGroup:
    return {name: group[name] for name in properties(schema, schema) if name in group}
