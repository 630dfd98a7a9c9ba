"""Calls of gettext and its kin: what is a text in their arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from catalogue.message import Message

# For each name the parts of a message, in the order of its arguments.
_PARTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "_": ("singular",),
        "gettext": ("singular",),
        "gettext_lazy": ("singular",),
        "mark": ("singular",),
        "say": ("singular",),
        "ngettext": ("singular", "plural"),
        "ngettext_lazy": ("singular", "plural"),
        "say_many": ("singular", "plural"),
        "pgettext": ("context", "singular"),
        "pgettext_lazy": ("context", "singular"),
        "npgettext": ("context", "singular", "plural"),
        # Of the protocol library, which knows no languages: pages tell what its errors say.
        "EgressDenied": ("singular",),
        "TargetError": ("singular",),
    }
)


class NotALiteral(Exception):
    """A text that is put together where it is translated, so that no catalogue can hold it."""


class UnknownName(Exception):
    """A function of gettext under a name that is not looked for: its texts would be missed."""


def find_messages(tree: ast.AST) -> Iterator[Message]:
    """Every text in every call; a text that comes out of a variable was marked elsewhere."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "django.utils.translation":
            _check_names(node)
        if isinstance(node, ast.Call) and (parts := _PARTS.get(_name(node.func))):
            found = _literals(node, len(parts))
            if found:
                yield Message(**dict(zip(parts, found, strict=True)))


def _check_names(imported: ast.ImportFrom) -> None:
    for each in imported.names:
        if "gettext" in each.name and (each.asname or each.name) not in _PARTS:
            raise UnknownName(f"line {imported.lineno}: {ast.unparse(imported)}")


def _name(called: ast.expr) -> str:
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""


def _literals(call: ast.Call, count: int) -> list[str]:
    given = call.args[:count]
    built = [arg for arg in given if isinstance(arg, ast.JoinedStr | ast.BinOp)]
    if built:
        raise NotALiteral(f"line {call.lineno}: {ast.unparse(call)}")
    return [
        arg.value for arg in given if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
    ]
