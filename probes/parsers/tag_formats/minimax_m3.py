from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from probes.messages import JSON, ToolSpec
from probes.parsers.base import Parameter, Parameters, RawCall
from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading, TagSearch
from probes.parsers.json_formats.json_output import skip_closers
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
_INVOKE = re.compile(r"invoke name=")
_LITERAL = re.compile(
    r"-?(?:0|[1-9]\d{0,300})(?:\.\d{1,300})?(?:[eE][+-]?\d{1,3})?|true|false|null"
)


@dataclass(slots=True)
class _Node:
    tag: str
    pieces: list[str | _Node] = field(default_factory=list)
    closed: bool = False
    has_words: bool = False
    stray: str = ""  # closing tags behind the last piece that close nothing

    def add_text(self, text: str) -> None:
        self.add(text)
        self.has_words = self.has_words or not text.isspace()

    def add(self, piece: str | _Node) -> None:
        """Add a piece, and before it the stray tags: inside a value they belong to it."""
        if self.stray:
            self.pieces.append(self.stray)
            self.stray = ""
        self.pieces.append(piece)

    @property
    def name(self) -> str:
        """What its closing tag has: a quoted call's `invoke` has an attribute."""
        return self.tag.partition(" ")[0]

    @property
    def children(self) -> list[_Node]:
        return [piece for piece in self.pieces if isinstance(piece, _Node)]

    @property
    def is_text(self) -> bool:
        """Whether this is a value without parts: beside words, tags are spoken of."""
        return self.has_words or not self.children

    @property
    def text(self) -> str:
        """What stands between the tags, as it was written."""
        return "".join(piece if isinstance(piece, str) else piece.source() for piece in self.pieces)

    def source(self) -> str:
        end = f"{PREFIX}</{self.name}>" if self.closed else ""
        return f"{PREFIX}<{self.tag}>{self.text}{self.stray}{end}"


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """Every tag has the prefix `]<]minimax[>[`; tags are named after parameters and nest."""
    if opener == OPEN and not (yield from cursor.skip(INVOKE)):
        return bool((yield from cursor.skip(CLOSE)))
    while True:
        head = yield from cursor.until(300, ">")
        if head is None:
            return False
        cursor.take(1)
        root = _Node("invoke")
        tree = yield from _read_tree(cursor, root)
        if tree is None or not _hand_out(cursor, context, head[0].strip(" \"'"), root, tree):
            return False
        yield from skip_closers(cursor, CLOSE)
        if not (yield from cursor.skip(INVOKE)):
            return True


@dataclass(frozen=True, slots=True)
class _Tree:
    """How the tags of a call ended."""

    closed: bool
    notes: tuple[str, ...] = ()


def _hand_out(cursor: Cursor, context: ParseContext, name: str, root: _Node, tree: _Tree) -> bool:
    schema = _schema(name, context.tools)
    nodes = _parameters(root, schema)
    items = tuple(_parameter(node, _property(schema, node.tag)) for node in nodes)
    call = RawCall(name, Parameters(items), NAME, "", closed=tree.closed, notes=tree.notes)
    return context.emit_call(cursor, call, unknown=True)


def _read_tree(cursor: Cursor, root: _Node) -> Reading[_Tree | None]:
    """Pass the tags up to the end of the call; how it ended, or None: no call."""
    stack = [root]
    for _ in range(MAX_TAGS):
        match = yield from cursor.search(_TAG, stack[-1].add_text)
        if match is None:
            return _Tree(closed=False)
        tag, size = match["tag"], len(match.group())
        if not match["slash"]:
            if len(stack) == 1 and _INVOKE.match(tag):
                return _Tree(closed=True, notes=("missing_end",))
            node = _Node(tag)
            if len(stack) >= MAX_DEPTH:
                return None
            stack[-1].add(node)
            stack.append(node)
        elif (yield from _is_spoken_of(cursor, stack, size)):
            stack[-1].add_text(match.group())
        elif tag in (open_tags := [node.name for node in stack]):
            # A closing tag ends everything inside it.
            at = len(open_tags) - 1 - open_tags[::-1].index(tag)
            if at == 0:
                cursor.take(size)
                return (yield from _end(cursor, opened=len(stack) > 1))
            stack[at].closed = True
            del stack[at:]
        elif tag == "tool_call" and len(stack) == 1:
            return _Tree(closed=True, notes=("missing_end",))
        else:
            stack[-1].stray += match.group()
        cursor.take(size)
    return None


def _is_spoken_of(cursor: Cursor, stack: list[_Node], size: int) -> Reading[bool]:
    # A closing tag with words on both sides belongs to the value, whatever it is named.
    if len(stack) == 1 or not stack[-1].has_words:
        return False
    gap = yield from cursor.gap(ahead=size)
    if (yield from cursor.starts_with(PREFIX, ahead=size + gap)):
        return False
    return len((yield from cursor.peek(size + gap + 1))) > size + gap


def _end(cursor: Cursor, *, opened: bool) -> Reading[_Tree]:
    # At the end of the text, a value that is open may have been about to go on.
    if not opened:
        return _Tree(closed=True)
    ended = yield from cursor.at_end(CLOSE)
    return _Tree(closed=not ended, notes=("missing_close",))


def _parameters(root: _Node, schema: Mapping[str, JSON]) -> Iterator[_Node]:
    # In a parameter that is never closed, what follows its words are the next parameters.
    for node in root.children:
        is_text = node.is_text or _is_string(_property(schema, node.tag))
        if node.closed or not is_text or not node.children:
            yield node
        else:
            first = node.pieces.index(node.children[0])
            yield _Node(node.tag, node.pieces[:first])
            yield from node.children


def _parameter(node: _Node, schema: Mapping[str, JSON]) -> Parameter:
    # The value of a flat parameter is left to the ladder; the tags of a nested one are its type.
    if node.is_text or _is_string(schema):
        return Parameter(node.tag, node.text)
    value = json.dumps(_value(node, schema), ensure_ascii=False)
    return Parameter(node.tag, value, is_string=False)


def _value(node: _Node, schema: Mapping[str, JSON]) -> JSON:
    if node.is_text or _is_string(schema):
        return _leaf(node.text, schema)
    if all(child.tag == ITEM for child in node.children):
        items = schema.get("items")
        inner = items if isinstance(items, Mapping) else {}
        return [_value(child, inner) for child in node.children]
    return _object(node.children, schema)


def _object(children: Sequence[_Node], schema: Mapping[str, JSON]) -> dict[str, JSON]:
    # A tag that stands several times makes a list.
    values: dict[str, list[JSON]] = {}
    for child in children:
        declared = _property(schema, child.tag)
        values.setdefault(child.tag, []).append(_value(child, declared))
    return {tag: found if len(found) > 1 else found[0] for tag, found in values.items()}


def _leaf(text: str, schema: Mapping[str, JSON]) -> JSON:
    if "string" in _types(schema) or "enum" in schema or not _LITERAL.fullmatch(text.strip()):
        return text
    value: JSON = json.loads(text)
    return value


def _is_string(schema: Mapping[str, JSON]) -> bool:
    # Tags inside a declared string are part of it: JSON made of them was never written.
    types = _types(schema)
    return "string" in types and not types & {"object", "array"}


def _types(schema: Mapping[str, JSON]) -> frozenset[str]:
    kinds = schema.get("type", ())
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    return frozenset(map(str, kinds)) if isinstance(kinds, (list, tuple)) else frozenset()


def _schema(name: str, tools: tuple[ToolSpec, ...]) -> Mapping[str, JSON]:
    wanted = declared_name(name, tools)
    return next((tool.schema or {} for tool in tools if tool.name == wanted), {})


def _property(schema: Mapping[str, JSON], key: str) -> Mapping[str, JSON]:
    properties = schema.get("properties")
    declared = properties.get(key) if isinstance(properties, Mapping) else None
    return declared if isinstance(declared, Mapping) else {}


PARSER = Parser(NAME, (OPEN, INVOKE), read_calls, anywhere=True)
