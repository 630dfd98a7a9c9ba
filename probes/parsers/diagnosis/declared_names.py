"""Finds the names of declared tools in a text, with or without a namespace before them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from probes.messages import ToolSpec

# Names that are looked at in one text; a text that has more repeats itself.
MAX_NAMES = 5000

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.:/-]{0,255}")
_CUT = re.compile(r"[.:/]|__")
_INDEX = re.compile(r":\d{1,6}$")
# A name like `read` is a word of every language; one like `read_file` is not.
UNMISTAKABLE = re.compile(r"[_\d-]|[a-z][A-Z]")


@dataclass(frozen=True, slots=True)
class NamePlace:
    """A declared tool's name in a text; `start` is that of the namespace before it, if any."""

    start: int
    name_start: int
    end: int
    tool: ToolSpec
    properties: frozenset[str] = field(default=frozenset())

    @property
    def has_namespace(self) -> bool:
        return self.name_start > self.start


class DeclaredNames:
    """The names of the tools, to be found in texts."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._folded = {_fold(tool.name): tool for tool in tools if UNMISTAKABLE.search(tool.name)}
        self._properties = {tool.name: _properties(tool) for tool in tools}

    def __bool__(self) -> bool:
        return bool(self._tools)

    def in_text(self, text: str, start: int = 0, end: int | None = None) -> Iterator[NamePlace]:
        """The names in order, at most MAX_NAMES."""
        count = 0
        stop = len(text) if end is None else end
        for match in _WORD.finditer(text, start, stop) if self._tools else ():
            place = self._place(match)
            if place is None:
                continue
            yield place
            count += 1
            if count >= MAX_NAMES:
                return

    def _place(self, match: re.Match[str]) -> NamePlace | None:
        word = _INDEX.sub("", match.group().rstrip(".:/-"))
        cuts = [0, *(cut.end() for cut in _CUT.finditer(word))]
        for cut in cuts[:12]:
            name = word[cut:]
            tool = self._tools.get(name) or self._folded.get(_fold(name))
            if tool is not None:
                end = match.start() + len(word)
                properties = self._properties[tool.name]
                return NamePlace(match.start(), match.start() + cut, end, tool, properties)
        return None


def _fold(name: str) -> str:
    return name.casefold().replace("-", "_")


def _properties(tool: ToolSpec) -> frozenset[str]:
    properties = (tool.schema or {}).get("properties")
    return frozenset(properties) if isinstance(properties, Mapping) else frozenset()
