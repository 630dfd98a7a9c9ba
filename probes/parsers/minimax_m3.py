from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from probes.messages import JSON, ToolSpec
from probes.parsers.base import Parameter, Parameters, RawCall
from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading, TagSearch
from probes.parsers.json_output import skip_closers
from probes.resolve.tool_names import declared_name

NAME = "minimax_m3"
PREFIX = "]<]minimax[>["
OPEN = f"{PREFIX}<tool_call>"
INVOKE = f"{PREFIX}<invoke name="
CLOSE = f"{PREFIX}</tool_call>"
ITEM = "item"
MAX_DEPTH = 64
MAX_TAGS = 100_000

_TAG = TagSearch(
    re.compile(re.escape(PREFIX) + r"<(?P<slash>/?)(?P<tag>[^<>/\n][^<>\n]{0,299})>"),
    starts=(PREFIX,),
)
_LITERAL = re.compile(
    r"-?(?:0|[1-9]\d{0,300})(?:\.\d{1,300})?(?:[eE][+-]?\d{1,3})?|true|false|null"
)


@dataclass(slots=True)
class _Node:
    tag: str
    texts: list[str] = field(default_factory=list)
    children: list[_Node] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.texts)


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """Every tag has the prefix `]<]minimax[>[`; tags are named after parameters and nest."""
    if opener == OPEN and not (yield from cursor.skip(INVOKE)):
        return False
    while True:
        head = yield from cursor.until(300, ">")
        if head is None:
            return False
        cursor.take(1)
        root = _Node("invoke")
        opened = yield from _read_tree(cursor, root)
        if opened is None or not _hand_out(cursor, context, head[0].strip(" \"'"), root, opened):
            return False
        yield from skip_closers(cursor, CLOSE)
        if not (yield from cursor.skip(INVOKE)):
            return True


def _hand_out(cursor: Cursor, context: ParseContext, name: str, root: _Node, opened: int) -> bool:
    schema = _schema(name, context.tools)
    items = tuple(_parameter(node, _property(schema, node.tag)) for node in root.children)
    call = RawCall(name, Parameters(items), NAME, "", closed=opened == 0, open_value=opened > 1)
    return context.emit_call(cursor, call, unknown=True)


def _read_tree(cursor: Cursor, root: _Node) -> Reading[int | None]:
    """Pass the tags up to the end of the call; how many were left open, or None: no call."""
    stack = [root]
    for _ in range(MAX_TAGS):
        match = yield from cursor.search(_TAG, stack[-1].texts.append)
        if match is None:
            return len(stack)
        tag = match["tag"]
        if not match["slash"]:
            node = _Node(tag)
            if len(stack) >= MAX_DEPTH:
                return None
            stack[-1].children.append(node)
            stack.append(node)
        elif tag in (open_tags := [node.tag for node in stack]):
            # A closing tag ends everything inside it; one that closes nothing is passed over.
            del stack[len(open_tags) - 1 - open_tags[::-1].index(tag) :]
        cursor.pass_match(match)
        if not stack:
            return 0
    return None


def _parameter(node: _Node, schema: Mapping[str, JSON]) -> Parameter:
    # The value of a flat parameter is left to the ladder; the tags of a nested one are its type.
    if not node.children:
        return Parameter(node.tag, node.text)
    value = json.dumps(_value(node, schema), ensure_ascii=False)
    return Parameter(node.tag, value, is_string=False)


def _value(node: _Node, schema: Mapping[str, JSON]) -> JSON:
    if not node.children:
        return _leaf(node.text, schema)
    if all(child.tag == ITEM for child in node.children):
        items = schema.get("items")
        inner = items if isinstance(items, Mapping) else {}
        return [_value(child, inner) for child in node.children]
    return {child.tag: _value(child, _property(schema, child.tag)) for child in node.children}


def _leaf(text: str, schema: Mapping[str, JSON]) -> JSON:
    kinds = schema.get("type", ())
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    if (isinstance(kinds, (list, tuple)) and "string" in kinds) or "enum" in schema:
        return text
    if not _LITERAL.fullmatch(text.strip()):
        return text
    value: JSON = json.loads(text)
    return value


def _schema(name: str, tools: tuple[ToolSpec, ...]) -> Mapping[str, JSON]:
    wanted = declared_name(name, tools)
    return next((tool.schema or {} for tool in tools if tool.name == wanted), {})


def _property(schema: Mapping[str, JSON], key: str) -> Mapping[str, JSON]:
    properties = schema.get("properties")
    declared = properties.get(key) if isinstance(properties, Mapping) else None
    return declared if isinstance(declared, Mapping) else {}


PARSER = Parser(NAME, (OPEN, INVOKE), read_calls, anywhere=True)
