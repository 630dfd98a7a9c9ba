from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from probes.adapters.base import ErrorBody


class ErrorClass(StrEnum):
    """What an error answer means, whoever worded it."""

    NO_TOOLS = "no_tools"
    SCHEMA_REFUSED = "schema_refused"
    FORCED_CHOICE = "forced_choice"
    PARAM_UNKNOWN = "param_unknown"
    TRANSIENT = "transient"


@dataclass(frozen=True, slots=True)
class Row:
    """A class and its signs: pieces of text that stand in this order in the message, or a code."""

    kind: ErrorClass
    texts: tuple[tuple[str, ...], ...]
    codes: tuple[str, ...] = ()


ROWS = (
    Row(
        ErrorClass.FORCED_CHOICE,
        (
            ("does not support this tool_choice",),
            ("tool choice must be auto",),
            ("incompatible with thinking enabled",),
            ("thinking may not be enabled when tool_choice forces",),
            ('type "tool" and "any" are not supported',),
            ("does not support being set to required or object in thinking mode",),
            ("tool_choice forces tool use is not compatible",),
        ),
    ),
    Row(
        ErrorClass.SCHEMA_REFUSED,
        (
            ("function parameters is empty",),
            ("invalid schema for function",),
            ("unknown variant", "expected", "function"),
        ),
    ),
    Row(
        ErrorClass.NO_TOOLS,
        (
            ("does not support tools",),
            ("tool choice requires --enable-auto-tool-choice",),
            ("no endpoints found that support tool use",),
        ),
    ),
    Row(
        ErrorClass.PARAM_UNKNOWN,
        (
            ("unrecognized request argument",),
            ("unknown parameter",),
            ("extra inputs are not permitted",),
        ),
        codes=("1210", "unknown_parameter"),
    ),
    Row(ErrorClass.TRANSIENT, (("overloaded_error",), ("model is loading",))),
)


def classify(status: int, error: ErrorBody) -> ErrorClass | None:
    """The class of an error answer, or None where no row knows it."""
    if status == 429 or status >= 500:
        return ErrorClass.TRANSIENT
    message = error.message.lower()
    for row in ROWS:
        if error.code in row.codes or any(_in_order(pieces, message) for pieces in row.texts):
            return row.kind
    return None


def _in_order(pieces: tuple[str, ...], message: str) -> bool:
    at = 0
    for piece in pieces:
        found = message.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return True
