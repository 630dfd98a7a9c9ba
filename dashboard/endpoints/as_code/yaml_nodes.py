"""Parses YAML to PyYAML nodes, which have a line and column. Only plain data is accepted.

Scalars follow the core schema of YAML 1.2: `no`, `on`, 12:30 and 2026-01-01 are strings, unlike
in YAML 1.1.
"""

from __future__ import annotations

import math
import re
from functools import partial
from typing import Any, NoReturn

import yaml
from django.utils.translation import gettext as _
from typing_extensions import override
from yaml.composer import Composer
from yaml.resolver import BaseResolver

from dashboard.endpoints.as_code.file_errors import Mistakes, quoted
from probes.messages import JSON

# Nesting of lists and mappings.
MAX_DEPTH = 24
NULL, BOOL = "tag:yaml.org,2002:null", "tag:yaml.org,2002:bool"
INT, FLOAT = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
# A pattern per tag, with the first characters of such a scalar.
_CORE_SCHEMA = {
    NULL: (r"~|null|Null|NULL|", ["", *"~nN"]),
    BOOL: (r"true|True|TRUE|false|False|FALSE", [*"tTfF"]),
    INT: (r"[-+]?[0-9]{1,400}|0o[0-7]{1,100}|0x[0-9a-fA-F]{1,100}", [*"-+0123456789"]),
    FLOAT: (
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
        r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        [*"-+.0123456789"],
    ),
}
_BASES = {"0o": 8, "0x": 16}
# Ten times faster than the Python parser; absent if PyYAML was built without libyaml.
_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Stop(Exception):
    """The rest of the text cannot be parsed; the mistakes so far say why."""


def compose(text: str, mistakes: Mistakes) -> yaml.Node | None:
    """The root node of a text, or None if it has none. Errors are added to `mistakes`."""
    loader: Any = partial(_Loader, mistakes=mistakes)
    try:
        root: yaml.Node | None = yaml.compose(text, Loader=loader)
    except _Stop:
        return None
    except yaml.YAMLError as exc:
        mistakes.add(*_syntax_error(exc, text))
        return None
    return root


def is_null(node: yaml.Node) -> bool:
    return node.tag == NULL


def is_plain_string(text: str) -> bool:
    """YAML reads the text without quotes as the same string."""
    resolver: Any = _Resolver()
    tag: str = resolver.resolve(yaml.ScalarNode, text, (True, False))
    return tag == _Resolver.DEFAULT_SCALAR_TAG


def json_value(node: yaml.Node, mistakes: Mistakes) -> JSON:
    """The value of a node as JSON. The loader limits the depth."""
    if isinstance(node, yaml.MappingNode):
        return {key.value: json_value(value, mistakes) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [json_value(item, mistakes) for item in node.value]
    text: str = node.value
    if node.tag in (INT, FLOAT):
        number = int(text, _BASES.get(text[:2], 10)) if node.tag == INT else _finite_number(text)
        if number is None:
            mistakes.at(node, _("No request can carry this number. Write a finite one."))
        return number
    if node.tag == BOOL:
        return text.lower() == "true"
    return None if is_null(node) else text


def _finite_number(text: str) -> float | None:
    """The number, or None for .inf, .nan and overflow, which JSON cannot represent."""
    if text[-1].isalpha():
        return None
    number = float(text)
    return number if math.isfinite(number) else None


class _Resolver(BaseResolver):
    """Assigns tags to plain scalars."""


for _tag, (_pattern, _first) in _CORE_SCHEMA.items():
    _Resolver.add_implicit_resolver(_tag, re.compile(rf"(?:{_pattern})\Z"), _first)


class _Loader(Composer, _Resolver):
    """PyYAML's composer. It continues after a mistake, to report all of them at once."""

    def __init__(self, text: str, mistakes: Mistakes) -> None:
        Composer.__init__(self)
        _Resolver.__init__(self)
        parser = _PARSER(text)
        self.check_event, self.peek_event = parser.check_event, parser.peek_event
        self.get_event, self.dispose = parser.get_event, parser.dispose
        self._mistakes = mistakes
        self._depth = 0

    @override
    def compose_document(self) -> yaml.Node | None:
        root = super().compose_document()
        if self.check_event(yaml.DocumentStartEvent):
            message = _("A second document begins here. Put all endpoints into one.")
            self._stop(self.peek_event(), message)
        return root

    @override
    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event: Any = self.peek_event()
        self._check_references(event)
        if self.check_event(yaml.AliasEvent):
            self.get_event()
            return yaml.ScalarNode(NULL, "", event.start_mark, event.end_mark)
        # So that the composer resolves no aliases and constructs no types that the text names.
        event.anchor = event.tag = None
        if self.check_event(yaml.ScalarEvent):
            event.implicit = (not event.style, False)
        elif self._depth >= MAX_DEPTH:
            self._stop(event, _("This is nested too deeply."))
        elif isinstance(parent, yaml.MappingNode) and index is None:
            self._stop(event, _("A name is wanted here, not a list or a mapping."))
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    @override
    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        first_keys: dict[str, yaml.Node] = {}
        for key, _value in node.value:
            first = first_keys.setdefault(key.value, key)
            if first is not key:
                message = _("{name} stands here again; it was already given in line {line}.")
                line = first.start_mark.line + 1
                self._mistakes.at(key, message.format(name=quoted(key.value), line=line))
        return node

    def _check_references(self, event: yaml.NodeEvent) -> None:
        if isinstance(event, yaml.AliasEvent):
            self._mistakes.at(event, _("Aliases (*name) are not taken. Write the value out."))
        elif event.anchor is not None:
            self._mistakes.at(event, _("Anchors (&name) are not taken. Write the value out."))
        if getattr(event, "tag", None) is not None:
            self._mistakes.at(event, _("Tags (!name) are not taken. Write the value alone."))

    def _stop(self, event: yaml.Event, message: str) -> NoReturn:
        self._mistakes.at(event, message)
        raise _Stop


def _syntax_error(exc: yaml.YAMLError, text: str) -> tuple[int, int, str]:
    """Line, column and message of a parser error."""
    mark = getattr(exc, "problem_mark", None) or getattr(exc, "context_mark", None)
    if mark is None or not isinstance(exc, yaml.MarkedYAMLError):
        return 1, 1, _("This is not YAML.")
    message = _("This is not YAML: {problem}. Look at the indentation, quotes and brackets.")
    message = message.format(problem=exc.problem or exc.context or "")
    line = (text.splitlines() or [""])[min(mark.line, text.count("\n")) :][:1]
    if line and line[0][mark.column : mark.column + 1] == "\t":
        message = _("Indent with spaces: YAML takes no tabs here.")
    return mark.line + 1, mark.column + 1, message
