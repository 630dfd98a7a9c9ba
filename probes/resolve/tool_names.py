"""Matches a name to a declared tool. Exact first, then by spelling: never by similarity.

| repair | what was done to the name |
|---|---|
| `name_markup` | sentinels or white space were removed: `f</arg_value>`, `f<|channel|>final` |
| `name_suffix` | an attached `json` was removed, the rest of a lost `<|constrain|>json` |
| `name_prefix` | a namespace was removed: `functions.f`, `default_api.f`, `tool:f`, `mcp__x__f` |
| `name_case` | upper and lower case were treated as equal |
| `name_fold` | `-`, `_` and space were treated as equal |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from probes.messages import ToolSpec

MAX_NAME = 256
PREFIXES = ("functions.", "functions:", "default_api.", "default_api:", "tool:")
MCP = "mcp__"

# The sentinels that lenient engines leave in names and after arguments. Only literals and bounded
# classes, longer ones first: linear on any text.
MARKUP = re.compile(
    r"<\|channel\|>(?:commentary|analysis|final)|<\|constrain\|>json"
    r"|<\|[a-z_]{1,40}\|>|<｜[a-z_▁]{1,40}｜>"
    r"|</?(?:tool_calls?|function_calls?|function|invoke|parameter|name|arguments|arg_key|arg_value"
    r"|minimax:tool_call|tools|think)(?:>|$|(?=<))"
    r"|\[(?:TOOL_CALLS|ARGS|CALL_ID)\]"
)
_SUFFIX = "json"


@dataclass(frozen=True, slots=True)
class ToolMatch:
    """A declared tool's name and the repairs that were needed to match it."""

    name: str
    repairs: tuple[str, ...] = ()


def declared_name(name: str, tools: Sequence[ToolSpec]) -> str | None:
    """The declared name that `name` refers to, or None. Without tools nothing is declared."""
    match = find_tool(name, tools)
    return match.name if match else None


def find_tool(name: str, tools: Sequence[ToolSpec]) -> ToolMatch | None:
    """The tool that a name refers to and its repairs. An ambiguous name matches none."""
    names = tuple(tool.name for tool in tools)
    if name and name in names:
        return ToolMatch(name)
    if not names or len(name) > MAX_NAME:
        return None
    for repairs, index in zip(_KEY_REPAIRS, _indexes(names), strict=True):
        for form_repairs, forms in _forms(name):
            hits = {hit for form in forms for hit in index.get(repairs.key(form), ())}
            if len(hits) == 1:
                return ToolMatch(hits.pop(), form_repairs + repairs.names)
            if hits:
                return None
    return None


def normalise_name(name: str) -> str:
    """The name without sentinels and white space: `f</arg_value>` becomes `f`."""
    pieces = (piece.strip() for piece in MARKUP.split(name[:MAX_NAME]))
    return next((piece for piece in pieces if piece), "")


@dataclass(frozen=True, slots=True)
class _Key:
    """A way to compare names, and the repairs that it counts as."""

    key: Callable[[str], str]
    names: tuple[str, ...]


def _exact(name: str) -> str:
    return name


def _fold(name: str) -> str:
    return name.casefold().replace("-", "_").replace(" ", "_")


_KEY_REPAIRS = (
    _Key(_exact, ()),
    _Key(str.casefold, ("name_case",)),
    _Key(_fold, ("name_fold",)),
)


def _forms(name: str) -> list[tuple[tuple[str, ...], list[str]]]:
    """The name as written, then with more and more stripped from it."""
    clean = normalise_name(name)
    cleaned = ("name_markup",) if clean != name else ()
    forms: list[tuple[tuple[str, ...], list[str]]] = [(cleaned, [clean])]
    if stripped := _without_prefix(clean):
        forms.append(((*cleaned, "name_prefix"), stripped))
    for repairs, spellings in tuple(forms):
        bare = [form.removesuffix(_SUFFIX) for form in spellings if form.endswith(_SUFFIX)]
        forms.append(((*repairs, "name_suffix"), bare))
    return forms


def _without_prefix(name: str) -> list[str]:
    names = [name.removeprefix(prefix) for prefix in PREFIXES if name.startswith(prefix)]
    if name.startswith(MCP):
        # The server's name may itself contain two underscores, so every split is a candidate.
        pieces = name.split("__")
        names += ["__".join(pieces[cut:]) for cut in range(2, len(pieces))]
    return [form for form in names if form]


@lru_cache(maxsize=64)
def _indexes(names: tuple[str, ...]) -> tuple[Mapping[str, frozenset[str]], ...]:
    return tuple(_index(names, repairs.key) for repairs in _KEY_REPAIRS)


def _index(names: tuple[str, ...], key: Callable[[str], str]) -> Mapping[str, frozenset[str]]:
    index: dict[str, set[str]] = {}
    for name in names:
        if name:
            index.setdefault(key(name), set()).add(name)
    return {form: frozenset(hits) for form, hits in index.items()}
