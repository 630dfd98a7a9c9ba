"""YAML as a tree whose every part knows its line and column; nothing but plain data passes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import yaml
from django.utils.translation import gettext as _

from dashboard.endpoints.as_code.mistakes import Mistakes, Place, quoted

# How deep lists and mappings may lie in each other.
MAX_DEPTH = 24
# Ten times faster than the parser in Python; missing where PyYAML was built without libyaml.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Scalar:
    text: str
    place: Place
    # Without quotes: such a text may stand for a number, a switch or nothing.
    is_plain: bool = True


@dataclass(frozen=True, slots=True)
class Listing:
    place: Place
    items: list[Node] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Table:
    place: Place
    pairs: list[tuple[Scalar, Node]] = field(default_factory=list)


Node: TypeAlias = Scalar | Listing | Table


class _Stop(Exception):
    """What follows cannot be understood; what was found so far is told."""


def read(text: str, mistakes: Mistakes) -> Node | None:
    """The tree of a text, or None where it makes none; what is wrong is added to the mistakes."""
    builder = _Builder(mistakes)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except _Stop:
        return None
    except yaml.MarkedYAMLError as exc:
        mistakes.add(*_syntax(exc, text))
        return None
    except yaml.YAMLError:
        mistakes.add(Place(1, 1), _("This is not YAML."))
        return None
    return builder.root


class _Builder:
    """Builds without recursion, so that no depth of a text can exhaust the stack."""

    def __init__(self, mistakes: Mistakes) -> None:
        self.root: Node | None = None
        self._mistakes = mistakes
        self._open: list[Listing | Table] = []
        self._keys: list[Scalar | None] = []
        self._documents = 0

    def take(self, event: yaml.Event) -> None:
        mark = event.start_mark
        place = Place(mark.line + 1, mark.column + 1) if mark else Place(1, 1)
        if isinstance(event, yaml.NodeEvent):
            self._refuse_references(event, place)
        match event:
            case yaml.DocumentStartEvent():
                self._begin_document(place)
            case yaml.AliasEvent():
                self._put(Scalar("", place))
            case yaml.ScalarEvent():
                self._put(Scalar(event.value, place, event.style in (None, "")))
            case yaml.SequenceStartEvent():
                self._go_into(Listing(place))
            case yaml.MappingStartEvent():
                self._go_into(Table(place))
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                self._leave()
            case _:
                pass  # where the stream and the document begin and end

    def _refuse_references(self, event: yaml.NodeEvent, place: Place) -> None:
        if isinstance(event, yaml.AliasEvent):
            self._mistakes.add(place, _("Aliases (*name) are not taken. Write the value out."))
        elif event.anchor is not None:
            self._mistakes.add(place, _("Anchors (&name) are not taken. Write the value out."))
        if getattr(event, "tag", None) is not None:
            self._mistakes.add(place, _("Tags (!name) are not taken. Write the value alone."))

    def _begin_document(self, place: Place) -> None:
        self._documents += 1
        if self._documents > 1:
            message = _("A second document begins here. Put all endpoints into one.")
            self._mistakes.add(place, message)
            raise _Stop

    def _put(self, node: Node) -> None:
        if not self._open:
            self.root = node
            return
        inside = self._open[-1]
        if isinstance(inside, Listing):
            inside.items.append(node)
        elif (key := self._keys[-1]) is not None:
            inside.pairs.append((key, node))
            self._keys[-1] = None
        elif isinstance(node, Scalar):
            self._keys[-1] = node
        else:
            self._mistakes.add(node.place, _("A name is wanted here, not a list or a mapping."))
            raise _Stop

    def _go_into(self, node: Listing | Table) -> None:
        if len(self._open) >= MAX_DEPTH:
            self._mistakes.add(node.place, _("This is nested too deeply."))
            raise _Stop
        self._put(node)
        self._open.append(node)
        self._keys.append(None)

    def _leave(self) -> None:
        self._keys.pop()
        node = self._open.pop()
        if isinstance(node, Table):
            self._refuse_repeated(node)

    def _refuse_repeated(self, table: Table) -> None:
        first: dict[str, Place] = {}
        for key, _value in table.pairs:
            before = first.setdefault(key.text, key.place)
            if before is not key.place:
                message = _("{name} stands here again; it was already given in line {line}.")
                told = message.format(name=quoted(key.text), line=before.line)
                self._mistakes.add(key.place, told)


def _syntax(exc: yaml.MarkedYAMLError, text: str) -> tuple[Place, str]:
    mark = exc.problem_mark or exc.context_mark
    if mark is None:
        return Place(1, 1), _("This is not YAML.")
    place = Place(mark.line + 1, mark.column + 1)
    line = (text.splitlines() or [""])[min(mark.line, text.count("\n")) :][:1]
    if line and line[0][mark.column : mark.column + 1] == "\t":
        return place, _("Indent with spaces: YAML takes no tabs here.")
    message = _("This is not YAML: {problem}. Look at the indentation, quotes and brackets.")
    return place, message.format(problem=exc.problem or exc.context or "")
