"""Markup of a call in a text, and why it is not a call that runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

# The format of markup that no parser in `PARSERS` reads.
UNKNOWN = "unknown"
# The confidence of markup that a parser read as a call.
CERTAIN = 1.0


class MarkupReason(StrEnum):
    """Why markup of a call is not a call that runs."""

    FENCED = "fenced"  # inside a code fence, <pre> or indented code
    QUOTED = "quoted"  # inline code, a block quote, a comment or a string
    IN_REASONING = "in_reasoning"
    FOLLOWED_BY_TEXT = "followed_by_text"
    CUT_OFF = "cut_off"
    UNREADABLE = "unreadable"  # of a known format, but its parser could not read it
    OTHER_FORMAT = "other_format"  # of a known format that is not armed
    UNKNOWN_FORMAT = "unknown_format"  # shaped like a call, in no format of `PARSERS`
    UNKNOWN_TOOL = "unknown_tool"


@dataclass(frozen=True, slots=True)
class Markup:
    """One place of a text that shows a call.

    `format` is a name in `PARSERS` or "unknown"; `span` counts characters of the text;
    `confidence` (0 to 1) is how sure it is that the text is meant as a call.
    """

    format: str
    span: tuple[int, int]
    reason: MarkupReason
    confidence: float


# The confidence that markup is meant as a call. Whether a tool's name means the tool is the same
# question for all: the name must be declared and stand where the markup has its name.
TOKENS = 0.95  # tokens or tags of a known format around a declared tool
ENVELOPE = 0.85  # no known format, but tags, tokens, keys or labels that no sentence contains
CODE = 0.75  # written as code or as a command, with arguments, on a line of its own
SHOWN = 0.6  # any of these in a code block, or tokens and envelopes in the reasoning
WITHOUT_TOOL = 0.6  # the complete markup of a known format, and no declared tool in it
MENTIONED = 0.3  # in the middle of a sentence, quoted, planned, or only a tag without a body
# From here on text shows a call; below it speaks of one.
SHOWS_CALL = 0.5
