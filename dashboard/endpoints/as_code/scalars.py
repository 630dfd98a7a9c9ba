"""What a value without a type of its own stands for: the core schema of YAML 1.2, as JSON has it.

So `no`, `on`, 12:30 and 2026-01-01 are texts here, whatever older readers of YAML make of them.
"""

from __future__ import annotations

import math
import re

from django.utils.translation import gettext as _

from dashboard.endpoints.as_code.mistakes import Mistakes
from dashboard.endpoints.as_code.tree import Listing, Node, Scalar
from probes.messages import JSON

NOTHING = frozenset({"", "~", "null", "Null", "NULL"})
SWITCHES = {"true": True, "True": True, "TRUE": True}
SWITCHES |= {"false": False, "False": False, "FALSE": False}
_WHOLE = re.compile(r"[-+]?[0-9]{1,400}")
_BASED = re.compile(r"0o[0-7]{1,100}|0x[0-9a-fA-F]{1,100}")
_BROKEN = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NO_NUMBERS = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


def is_nothing(node: Node) -> bool:
    return isinstance(node, Scalar) and node.is_plain and node.text in NOTHING


def means_itself(text: str) -> bool:
    """Would the text, written without quotes, be read as this very text?"""
    if text in NOTHING or text in SWITCHES:
        return False
    return not any(each.fullmatch(text) for each in (_WHOLE, _BASED, _BROKEN, _NO_NUMBERS))


def value_of(node: Node, mistakes: Mistakes) -> JSON:
    """The value as JSON would hold it. The tree is bounded in depth."""
    if isinstance(node, Scalar):
        return _scalar(node, mistakes)
    if isinstance(node, Listing):
        return [value_of(item, mistakes) for item in node.items]
    return {key.text: value_of(value, mistakes) for key, value in node.pairs}


def _scalar(node: Scalar, mistakes: Mistakes) -> JSON:
    text = node.text
    if not node.is_plain or means_itself(text):
        return text
    if text in NOTHING:
        return None
    if text in SWITCHES:
        return SWITCHES[text]
    number = _number(text)
    if number is None:
        mistakes.add(node.place, _("No request can carry this number. Write a finite one."))
    return number


def _number(text: str) -> int | float | None:
    """The number, or None where JSON knows no such one."""
    if _WHOLE.fullmatch(text):
        return int(text)
    if _BASED.fullmatch(text):
        return int(text, 0)
    if _NO_NUMBERS.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None
