from __future__ import annotations

import ast
import json
import keyword
import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from probes.messages import JSON
from probes.parsers.base import JsonText, RawCall
from probes.parsers.context import ParseContext, Parser
from probes.parsers.cursor import Cursor, Reading, TagSearch

NAME = "pythonic"
MAX_SIZE = 256 * 1024
MAX_DEPTH = 64
MAX_SIGNS = 1_000

# Tokens that engines leave behind an answer (Llama 3 and 4, Gemma, ChatML).
STOPS = (
    "<|python_end|>",
    "<|eom|>",
    "<|eot|>",
    "<|eom_id|>",
    "<|eot_id|>",
    "<|end_of_text|>",
    "<end_of_turn>",
    "<|im_end|>",
)

# Strings that may have several lines, strings that may not, and comments. Each is taken up to the
# end of the text if it has no other end, so that no text is read twice.
LITERAL = re.compile(
    r"""(?P<long>\"{3}[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*(?:\"{3}|\\?\Z)"""
    r"""|'{3}[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*(?:'{3}|\\?\Z)|\#[^\n]*)"""
    r"""|"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|'[^'\\]*(?:\\.[^'\\]*)*(?:'|\\?\Z)""",
    re.DOTALL,
)
_START = re.compile(r"\[\s{0,64}[^\W\d][\w.]{0,255}\(")
# An argument such as `from=1` is no Python. It is read under another name, which is then undone.
_RESERVED = re.compile(
    rf"{LITERAL.pattern}|(?P<head>[(,]\s{{0,64}})(?P<word>[a-z]{{2,8}})(?=\s{{0,16}}=[^=])",
    re.DOTALL,
)
_RENAMED = "_reserved_word"
_WORDS: Mapping[str, JSON] = MappingProxyType({"true": True, "false": False, "null": None})


@dataclass(frozen=True, slots=True)
class PythonCall:
    """A call written in Python, its arguments as JSON text."""

    name: str
    arguments: str


class _NotLiteral(Exception):
    """Something in the text is more than a literal."""


def read_calls(cursor: Cursor, context: ParseContext, opener: str) -> Reading[bool]:
    """The whole visible text is `[f(a=1), g()]`, with declared names and literals only.

    Stop tokens may stand behind it, such as the `<|eot|>` of Llama 4.
    """
    cursor.rewind()
    ahead = yield from cursor.peek(400)
    if not context.tools or not _START.match(ahead):
        return False
    parts: list[str] = []
    size = 0

    def keep(text: str) -> None:
        nonlocal size
        size += len(text)
        if size <= MAX_SIZE:
            parts.append(text)

    yield from cursor.search(NOTHING, keep)
    calls = calls_in(_without_stops("".join(parts))) if size <= MAX_SIZE else None
    if calls is None or not all(context.knows(call.name) for call in calls):
        return False
    for call in calls:
        raw = f"{call.name}({call.arguments})" if len(calls) > 1 else ""
        context.emit_call(cursor, RawCall(call.name, JsonText(call.arguments), NAME, raw))
    return True


def calls_in(text: str) -> list[PythonCall] | None:
    """The calls of a Python list, or None where it is anything but calls with literals."""
    if len(text) > MAX_SIZE or _depth(text) > MAX_DEPTH or text.count("-") > MAX_SIGNS:
        return None
    try:
        tree = _parse(text.strip())
        if not isinstance(tree, ast.List) or not tree.elts:
            return None
        return [_call(node) for node in tree.elts]
    # The compiler reports hostile nesting by any of these.
    except (_NotLiteral, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _parse(text: str) -> ast.expr:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "\d" in a string is the model's affair
        try:
            return ast.parse(text, mode="eval").body
        except SyntaxError:
            return ast.parse(_RESERVED.sub(_rename, text), mode="eval").body


def _rename(found: re.Match[str]) -> str:
    reserved = found["word"] and keyword.iskeyword(found["word"])
    return f"{found.group()}{_RENAMED}" if reserved else found.group()


def _without_stops(text: str) -> str:
    text = text.rstrip()
    while stop := next((stop for stop in STOPS if text.endswith(stop)), ""):
        text = text.removesuffix(stop).rstrip()
    return text


def _call(node: ast.expr) -> PythonCall:
    if not isinstance(node, ast.Call) or node.args:
        raise _NotLiteral
    arguments = {_keyword(item): _value(item.value) for item in node.keywords}
    return PythonCall(_name(node.func), json.dumps(arguments, ensure_ascii=False))


def _keyword(node: ast.keyword) -> str:
    if node.arg is None:
        raise _NotLiteral
    name = node.arg.removesuffix(_RENAMED)
    return name if keyword.iskeyword(name) else node.arg


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            return f"{_name(value)}.{attr}"
        case _:
            raise _NotLiteral


def _value(node: ast.expr) -> JSON:
    match node:
        case ast.Constant(value=bool() | str() | int() | None as value):
            return value
        case ast.Constant(value=float() as number) if math.isfinite(number):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            return {_key(key): _value(value) for key, value in zip(keys, values, strict=True)}
        case ast.Name(id=word) if word in _WORDS:
            return _WORDS[word]
        case _:
            raise _NotLiteral


def _key(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise _NotLiteral


def _depth(text: str) -> int:
    # Brackets in strings count too: no honest call comes near the bound.
    depth = deepest = 0
    for character in text:
        if character in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ")]}":
            depth -= 1
    return deepest


# Matches nowhere: the search for it passes all there is.
NOTHING = TagSearch(re.compile(r"(?!)"), (), "", ())

PARSER = Parser(NAME, ("[",), read_calls, whole=True)
