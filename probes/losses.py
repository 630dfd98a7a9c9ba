"""What a value loses when it is written in a format that cannot carry it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class LossKind(StrEnum):
    """The rows of the loss table, shared by all adapters."""

    ERROR_FLAG = "error_flag"  # is_error has no field; the text is prefixed instead
    RESULT_BLOCKS = "result_blocks"  # a result of several blocks is flattened to text
    REASONING = "reasoning"  # the reasoning's shape belongs to another format
    SIGNATURE = "signature"  # a signature that only its issuer understands
    EXTRA = "extra"  # fields of another format
    OPAQUE = "opaque"  # a block of another format
    BLOCK_ORDER = "block_order"  # text and calls cannot interleave
    CALL_ID = "call_id"  # ids are not carried
    PARALLEL = "parallel"  # no switch for parallel calls
    TOOL_CHOICE = "tool_choice"  # this choice cannot be expressed
    STRICT = "strict"  # no strict flag on tools
    BROKEN_CALL = "broken_call"  # a call that could not be read has no place
    IMAGE = "image"  # a picture has no place here, or only its data would have
    IMAGE_MOVED = "image_moved"  # a picture in a result follows in a user turn
    VENDOR_TOOL = "vendor_tool"  # a tool that only another format defines
    SAMPLING = "sampling"  # temperature, top_p, top_k, seed or a penalty
    STOP_SEQUENCES = "stop_sequences"
    THINKING = "thinking"  # the switch, effort or budget of thinking
    OUTPUT_FORMAT = "output_format"  # JSON, or JSON that follows a schema
    USER = "user"  # the id of a user or session


@dataclass(frozen=True, slots=True)
class Loss:
    """One thing that the target format cannot carry, and its path."""

    kind: LossKind
    path: str
    message: str
