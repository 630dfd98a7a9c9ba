from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from probes.adapters.base import ErrorBody
from probes.error_table import ACTIONS, ERROR_PATTERNS, Action, ErrorClass, ErrorPattern
from probes.relayed_errors import ErrorLayer, error_layers

__all__ = ["Action", "ErrorClass", "ErrorMeaning", "ErrorPattern", "classify_error"]

# Quotes differ from relay to relay; the words do not.
_UNQUOTED = dict.fromkeys(map(ord, "\\`'\"‘’“”"))
# Anchored on fixed words and bounded, so no text makes it look back.
_INDEX = re.compile(
    r"(?:message index |at index |, position |messages\.\[|messages\.|messages?\[|input\[)(\d{1,7})"
)


@dataclass(frozen=True, slots=True)
class ErrorMeaning:
    """What an error answer means; `index` is the message it complains about, where it says so."""

    kind: ErrorClass
    action: Action
    index: int | None = None
    matched: str = ""


def classify_error(
    status: int, error: ErrorBody, extra: Sequence[ErrorPattern] = ()
) -> ErrorMeaning | None:
    """The meaning of an error answer, or None where no row knows it.

    The innermost text decides: what a relay says about a vendor's error is worth less than the
    error. `extra` are a dialect's own rows, asked first.
    """
    for layer in reversed(error_layers(error)):
        meaning = _meaning(_status(status, layer), layer, (*extra, *ERROR_PATTERNS))
        if meaning is not None:
            return meaning
    return None


def _status(status: int, layer: ErrorLayer) -> int:
    """The status of the vendor's own answer, where a relay or an error inside a 200 names it."""
    if layer.status is not None:
        return layer.status
    inside_a_200 = status == 200 and layer.code.isascii() and layer.code.isdigit()
    return int(layer.code) if inside_a_200 and len(layer.code) == 3 else status


def _meaning(status: int, layer: ErrorLayer, rows: Sequence[ErrorPattern]) -> ErrorMeaning | None:
    message = layer.message.lower().translate(_UNQUOTED)
    for row in rows:
        sign = _sign(row, message, layer.code)
        if sign and _may_say(row.kind, status):
            return ErrorMeaning(row.kind, ACTIONS[row.kind], _index(message), sign)
    if _is_transient(status):
        return ErrorMeaning(ErrorClass.TRANSIENT, Action.RETRY_LATER, None, str(status))
    return None


def _may_say(kind: ErrorClass, status: int) -> bool:
    # A server in trouble is in trouble, whatever it says; only Ollama reports by a 500 that its
    # own model's call could not be read.
    return not _is_transient(status) or kind is ErrorClass.SERVER_PARSE


def _is_transient(status: int) -> bool:
    return status == 429 or status >= 500


def _sign(row: ErrorPattern, message: str, code: str) -> str:
    for pieces in row.texts:
        if _in_order(pieces, message):
            return " … ".join(pieces)
    return f"code {code}" if code in row.codes else ""


def _in_order(pieces: tuple[str, ...], message: str) -> bool:
    at = 0
    for piece in pieces:
        position = message.find(piece, at)
        if position < 0:
            return False
        at = position + len(piece)
    return True


def _index(message: str) -> int | None:
    match = _INDEX.search(message)
    return int(match.group(1)) if match else None
