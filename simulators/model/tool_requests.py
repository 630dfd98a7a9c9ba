"""Which of the declared tools a text requests, how often and with which arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from probes.messages import JSON, ToolSpec
from simulators.model.embedded_data import ValueGroup, read_json_objects
from simulators.model.property_values import read_value_groups
from simulators.model.schema_values import Schema, properties, required
from simulators.model.tool_bans import CALLING, blank_out_bans, find_first_ban, is_forbidden
from simulators.model.unnamed_values import guess_values

_REQUEST_WORDS = re.compile(
    rf"\b{CALLING}\b|\b(?:tool|function|please|once|(?:one|single) time)\b"
    r"|\b(?:ask|query|check|try|execute|arguments?|args|parameters?|input)\b",
    re.I,
)
_EXPLANATION_WORDS = re.compile(
    r"\b(?:what|how|why|which|explain|describe|tell me|summari[sz]e)\b", re.I
)
_ONCE = re.compile(
    r"(?<!at )\bonce\b(?!\s+(?:with|you|for))|\bone time\b|\bsingle (?:\w+ )?call\b|\bone call\b",
    re.I,
)
_GENERIC = frozenset({"probe", "tool", "get", "set", "the", "run", "do", "make"})


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A tool call that a text requests."""

    tool: ToolSpec
    arguments: Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class _Mention:
    tool: ToolSpec
    start: int
    end: int


def read_tool_requests(text: str, tools: Sequence[ToolSpec]) -> list[ToolRequest]:
    """The calls that a text requests, in the order it names them."""
    mentions = _find_mentions(text, tools)
    ban = find_first_ban(text)
    if ban is not None and (not mentions or ban < mentions[0].start):
        return []
    if ban is not None:
        # After a requested call, a ban applies only to the rest of the task.
        text = blank_out_bans(text)
    if not mentions:
        hinted = _find_hinted_tool(text, tools)
        return _read_segment(hinted, text, text) if hinted else []
    tool_requests = _read_json_requests(text, mentions) or _read_mentioned_requests(text, mentions)
    return _keep_first_per_tool(tool_requests) if _ONCE.search(text) else tool_requests


def force_tool_request(text: str, tool: ToolSpec) -> ToolRequest:
    """A call of a tool that must be called, with the values that the text states."""
    tool_requests = _read_segment(tool, text, text)
    return tool_requests[0] if tool_requests else ToolRequest(tool, {})


def _keep_first_per_tool(tool_requests: Sequence[ToolRequest]) -> list[ToolRequest]:
    """`Exactly once` can apply to each tool; a repeated request is the same call."""
    chosen: dict[str, ToolRequest] = {}
    for tool_request in tool_requests:
        chosen.setdefault(tool_request.tool.name, tool_request)
    several = len(chosen) > 1 or len(tool_requests) < 2
    return list(chosen.values()) if several else list(tool_requests)[:1]


def _read_json_requests(text: str, mentions: Sequence[_Mention]) -> list[ToolRequest]:
    """The calls whose arguments are JSON in the text, if each fits exactly one tool."""
    tools = list({mention.tool.name: mention.tool for mention in mentions}.values())
    names: dict[str, Schema] = {name: {} for tool in tools for name in _properties(tool)}
    tool_requests: list[ToolRequest] = []
    for group in read_json_objects(text, names):
        fitting = [tool for tool in tools if _fits(group, tool)]
        if len(fitting) != 1:
            return []
        tool_requests.append(
            ToolRequest(fitting[0], _in_schema_order(group, fitting[0].schema or {}))
        )
    covers_all_tools = {tool_request.tool.name for tool_request in tool_requests} == {
        tool.name for tool in tools
    }
    return tool_requests if covers_all_tools else []


def _properties(tool: ToolSpec) -> Mapping[str, Schema]:
    schema: Schema = tool.schema or {}
    return properties(schema, schema)


def _fits(group: ValueGroup, tool: ToolSpec) -> bool:
    return set(required(tool.schema or {})) <= set(group) <= set(_properties(tool))


def _read_mentioned_requests(text: str, mentions: Sequence[_Mention]) -> list[ToolRequest]:
    """The calls of the tools that a text names, with the values near their names."""
    tool_requests: list[ToolRequest] = []
    seen_names: set[str] = set()
    for index, mention in enumerate(mentions):
        begin = mentions[index - 1].end if index else 0
        end = mentions[index + 1].start if index + 1 < len(mentions) else len(text)
        ahead = text[mention.start if index else 0 : end]
        requests = _read_complete_requests(mention.tool, ahead)
        if not requests and mention.tool.name not in seen_names:
            # The values can precede the tool's name.
            requests = _read_segment(mention.tool, text[begin:end], text)
        seen_names.add(mention.tool.name)
        tool_requests += requests
    return tool_requests


def _find_mentions(text: str, tools: Sequence[ToolSpec]) -> list[_Mention]:
    mentions = [
        _Mention(tool, match.start(), match.end())
        for tool in tools
        for match in re.finditer(rf"(?<![\w-]){re.escape(tool.name)}(?![\w-])", text)
        if not is_forbidden(text, match)
    ]
    return sorted(mentions, key=lambda mention: mention.start)


def _find_hinted_tool(text: str, tools: Sequence[ToolSpec]) -> ToolSpec | None:
    """The tool that a text refers to without naming it, if it clearly requests one."""
    if not re.search(r"\b(?:tool|function)\b", text, re.I):
        return _find_described_tool(text, tools)
    words = set(re.findall(r"[a-z]+", text.lower()))
    for tool in tools:
        name_words = _name_words(tool)
        if name_words and name_words <= words:
            return tool
    has_values = len(tools) == 1 and read_value_groups(text, tools[0].schema or {})
    return tools[0] if has_values else None


def _find_described_tool(text: str, tools: Sequence[ToolSpec]) -> ToolSpec | None:
    """The one tool that does what a polite request says, by the words of its name."""
    if not re.search(r"\bplease\b", text, re.I):
        return None
    words = set(re.findall(r"[a-z]+", text.lower()))
    fitting = [tool for tool in tools if len(_name_words(tool)) > 1 and _name_words(tool) <= words]
    return fitting[0] if len(fitting) == 1 else None


def _name_words(tool: ToolSpec) -> set[str]:
    return set(re.findall(r"[a-z]+", tool.name.lower())) - _GENERIC


def _read_segment(tool: ToolSpec, segment: str, text: str) -> list[ToolRequest]:
    """The calls that a part of the text requests, or one call with the known values."""
    if complete := _read_complete_requests(tool, segment):
        return complete
    needed = required(tool.schema or {})
    is_explanation = (
        needed and _EXPLANATION_WORDS.search(text) and not re.search(rf"\b{CALLING}\b", text, re.I)
    )
    if is_explanation or not _REQUEST_WORDS.search(text):
        return []
    schema: Schema = tool.schema or {}
    known = guess_values(segment, schema, read_value_groups(segment, schema)) or [{}]
    return [ToolRequest(tool, _in_schema_order(known[0], schema))]


def _read_complete_requests(tool: ToolSpec, segment: str) -> list[ToolRequest]:
    """The calls for which the text states all required values."""
    schema: Schema = tool.schema or {}
    needed = {name for name in required(schema) if name in properties(schema, schema)}
    groups = guess_values(segment, schema, read_value_groups(segment, schema))
    return [
        ToolRequest(tool, _in_schema_order(group, schema))
        for group in groups
        if needed <= set(group)
    ]


def _in_schema_order(group: ValueGroup, schema: Schema) -> ValueGroup:
    return {name: group[name] for name in properties(schema, schema) if name in group}
