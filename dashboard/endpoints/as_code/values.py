"""Values of the file with a type of their own: how each is read, and written back."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from dashboard.core import durations
from dashboard.endpoints.as_code.mistakes import Mistakes, quoted
from dashboard.endpoints.as_code.scalars import SWITCHES, is_nothing, value_of
from dashboard.endpoints.as_code.tree import Listing, Node, Scalar, Table
from probes.messages import JSON

_WHOLE = re.compile(r"[0-9]{1,18}")
_NUMBER = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18})?([eE]-?[0-9]{1,2})?")


class WrongType(Exception):
    """The value is of another type than its field; the sentence says which one it takes."""

    def __init__(self, node: Node, sentence: str) -> None:
        super().__init__(sentence)
        self.place = node.place
        self._sentence, self._found = sentence, _found(node)

    def told(self, name: str) -> str:
        return self._sentence.format(name=name, found=self._found)


def text(node: Node, mistakes: Mistakes) -> str:
    """As it is written: the field is a text, so 3.10 stays 3.10 and needs no quotes."""
    if not isinstance(node, Scalar) or is_nothing(node):
        raise WrongType(node, _("{name} takes a text, not {found}."))
    return node.text


def name(node: Node, mistakes: Mistakes) -> str | None:
    """Of something else that has one; nothing where it says nothing."""
    return None if is_nothing(node) else text(node, mistakes).strip() or None


def whole(node: Node, mistakes: Mistakes) -> int | None:
    if is_nothing(node):
        return None
    if isinstance(node, Scalar) and node.is_plain and _WHOLE.fullmatch(node.text):
        return int(node.text)
    raise WrongType(
        node, _("{name} takes a whole number such as 2000, without quotes, not {found}.")
    )


def switch(node: Node, mistakes: Mistakes) -> bool:
    if isinstance(node, Scalar) and node.is_plain and node.text in SWITCHES:
        return SWITCHES[node.text]
    raise WrongType(node, _("{name} takes true or false, not {found}."))


def price(node: Node, mistakes: Mistakes) -> str | None:
    """As text: a price in binary would not be the price that was written."""
    if is_nothing(node):
        return None
    if isinstance(node, Scalar) and _NUMBER.fullmatch(node.text):
        return node.text
    raise WrongType(node, _("{name} takes a number such as 0.15, not {found}."))


def words(node: Node, mistakes: Mistakes) -> list[str]:
    if not isinstance(node, Listing):
        raise WrongType(node, _("{name} takes a list of words such as [eu, coding], not {found}."))
    return [text(item, mistakes) for item in node.items]


def options(node: Node, mistakes: Mistakes) -> JSON:
    if not isinstance(node, Table):
        raise WrongType(node, _("{name} takes a mapping such as {{temperature: 0}}, not {found}."))
    return value_of(node, mistakes)


def as_is(value: Any) -> JSON:
    kept: JSON = value
    return kept


def span_out(value: timedelta) -> JSON:
    return durations.short(value)


def price_out(value: Decimal | None) -> JSON:
    return None if value is None else float(value)


def name_out(value: object) -> JSON:
    """Of a row that is called by its name, or the name itself."""
    return None if value is None else str(value)


def words_out(value: list[str]) -> JSON:
    return list(value)


def same(one: Any, other: Any) -> bool:
    """Equal as JSON has it: true is not 1, and 1e23 is the same number however it is held."""
    if isinstance(one, bool) != isinstance(other, bool):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) or isinstance(other, float):
        return bool(_number(one) == _number(other))
    return bool(one == other)


def _number(value: Any) -> Any:
    try:
        return float(value) if isinstance(value, int) else value
    except OverflowError:
        return value


def _found(node: Node) -> str:
    if isinstance(node, Listing):
        return _("a list")
    if isinstance(node, Table):
        return _("a mapping")
    return _("nothing") if is_nothing(node) else quoted(node.text)
