"""Finds the translatable texts in calls of gettext and related functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from catalogue.source_text import Message

# Per function, the parts of a message in the order of its arguments.
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
        # The protocol library does not translate; pages translate the messages of its errors.
        "EgressDenied": ("singular",),
        "TargetError": ("singular",),
    }
)


class NotALiteral(Exception):
    """A text that is built at run time, so that no catalogue can contain it."""


class UnknownName(Exception):
    """A gettext function imported under a name that is not in `_PARTS`: texts would be missed."""


def find_messages(tree: ast.AST) -> Iterator[Message]:
    """Every literal text in every call; a variable's text was marked elsewhere."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "django.utils.translation":
            _check_names(node)
        if isinstance(node, ast.Call) and (parts := _PARTS.get(_called_name(node.func))):
            literals = _literal_arguments(node, len(parts))
            if literals:
                yield Message(**dict(zip(parts, literals, strict=True)))


def _check_names(node: ast.ImportFrom) -> None:
    for alias in node.names:
        if "gettext" in alias.name and (alias.asname or alias.name) not in _PARTS:
            raise UnknownName(f"line {node.lineno}: {ast.unparse(node)}")


def _called_name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _literal_arguments(call: ast.Call, count: int) -> list[str]:
    arguments = call.args[:count]
    built = [argument for argument in arguments if isinstance(argument, ast.JoinedStr | ast.BinOp)]
    if built:
        raise NotALiteral(f"line {call.lineno}: {ast.unparse(call)}")
    return [
        argument.value
        for argument in arguments
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]
