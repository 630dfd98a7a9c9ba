from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from probes.adapters.base import ErrorBody
from probes.error_table import ACTIONS, ERROR_PATTERNS, Action, ErrorClass, ErrorPattern
from probes.relayed_errors import ErrorLayer, error_layers

__all__ = ["Action", "ErrorClass", "ErrorMeaning", "ErrorPattern", "classify_error", "meant_status"]

# Relays differ in their quotes, not in the words.
_UNQUOTED = dict.fromkeys(map(ord, "\\`'\"‘’“”"))
# Anchored on fixed words and bounded, so that no text causes backtracking.
_INDEX = re.compile(
    r"(?:message index |at index |, position |messages\.\[|messages\.|messages?\[|input\[)(\d{1,7})"
)


@dataclass(frozen=True, slots=True)
class ErrorMeaning:
    """The meaning of an error answer; `index` is the message that it names, if any."""

    kind: ErrorClass
    action: Action
    index: int | None = None
    matched: str = ""


def classify_error(
    status: int, error: ErrorBody, extra: Sequence[ErrorPattern] = ()
) -> ErrorMeaning | None:
    """Classify an error answer; None if no pattern matches.

    The innermost layer decides: a relay's text says less than the vendor's error inside it. `extra`
    is a dialect's own patterns, which are matched first.
    """
    for layer in reversed(error_layers(error)):
        meaning = _classify_layer(_vendor_status(status, layer), layer, (*extra, *ERROR_PATTERNS))
        if meaning is not None:
            return meaning
    return None


def meant_status(status: int, code: str) -> int:
    """The status that an answer means: an error inside a 200 can name another one."""
    inside_a_200 = status == 200 and code.isascii() and code.isdigit()
    return int(code) if inside_a_200 and len(code) == 3 else status


def _vendor_status(status: int, layer: ErrorLayer) -> int:
    """The status of the vendor's own answer, if a relay or an error inside a 200 names it."""
    return meant_status(status, layer.code) if layer.status is None else layer.status


def _classify_layer(
    status: int, layer: ErrorLayer, rows: Sequence[ErrorPattern]
) -> ErrorMeaning | None:
    message = layer.message.lower().translate(_UNQUOTED)
    for row in rows:
        matched = _match_pattern(row, message, layer.code)
        if matched and _applies_to_status(row.kind, status):
            return ErrorMeaning(row.kind, ACTIONS[row.kind], _message_index(message), matched)
    if _is_transient(status):
        return ErrorMeaning(ErrorClass.TRANSIENT, Action.RETRY_LATER, None, str(status))
    return None


def _applies_to_status(kind: ErrorClass, status: int) -> bool:
    # A 429 or 5xx is transient whatever its text, but Ollama reports an unreadable call of its own
    # model with a 500, and llama.cpp a role that its chat template does not know.
    if kind is ErrorClass.ROLE_REFUSED and status == 500:
        return True
    return not _is_transient(status) or kind is ErrorClass.SERVER_PARSE


def _is_transient(status: int) -> bool:
    return status == 429 or status >= 500


def _match_pattern(row: ErrorPattern, message: str, code: str) -> str:
    for pieces in row.texts:
        if _contains_in_order(pieces, message):
            return " … ".join(pieces)
    return f"code {code}" if code in row.codes else ""


def _contains_in_order(pieces: tuple[str, ...], message: str) -> bool:
    at = 0
    for piece in pieces:
        position = message.find(piece, at)
        if position < 0:
            return False
        at = position + len(piece)
    return True


def _message_index(message: str) -> int | None:
    match = _INDEX.search(message)
    return int(match.group(1)) if match else None
