"""Anthropic's answer, unstreamed, and its errors, in both directions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from probes.adapters.anthropic.blocks import FORMAT, MAX_BLOCKS, read_block, write_block
from probes.adapters.base import ErrorBody
from probes.adapters.error_bodies import bounded_error, read_base_resp, read_envelope
from probes.adapters.json_fields import (
    Notes,
    copy_object,
    count_or_none,
    fields_with_values,
    keep_extra,
    own_fields,
    require_list,
    require_object,
    text_or_empty,
    text_or_none,
    unread_fields,
)
from probes.adapters.reply_errors import error_text, read_reply_error
from probes.adapters.tool_calls import as_cut_off, has_calls, repeats_id
from probes.events import NO_HEAD, ReplyHead
from probes.messages import (
    JSON,
    BrokenCall,
    ErrorKind,
    Image,
    Part,
    Reasoning,
    Reply,
    ReplyError,
    Stop,
    ToolCall,
    Usage,
)

STOPS = {
    "end_turn": Stop.END,
    "stop_sequence": Stop.END,
    "tool_use": Stop.TOOL_CALLS,
    "max_tokens": Stop.LENGTH,
    "model_context_window_exceeded": Stop.LENGTH,
    "pause_turn": Stop.PAUSE,
    "refusal": Stop.REFUSAL,
}
STOP_WORDS = {
    Stop.END: "end_turn",
    Stop.TOOL_CALLS: "tool_use",
    Stop.LENGTH: "max_tokens",
    Stop.REFUSAL: "refusal",
    Stop.PAUSE: "pause_turn",
    Stop.MALFORMED_CALL: "end_turn",
    Stop.OTHER: "end_turn",
}
ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
ERROR_WORDS = {
    ErrorKind.OVERLOADED: "overloaded_error",
    ErrorKind.RATE_LIMIT: "rate_limit_error",
    ErrorKind.TIMEOUT: "timeout_error",
    ErrorKind.SERVER: "api_error",
    ErrorKind.CONTEXT_OVERFLOW: "invalid_request_error",
    ErrorKind.INVALID_REQUEST: "invalid_request_error",
    ErrorKind.AUTHENTICATION: "authentication_error",
    ErrorKind.PERMISSION: "permission_error",
    ErrorKind.QUOTA: "billing_error",
    ErrorKind.NOT_FOUND: "not_found_error",
}
KNOWN = ("id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage")
CACHE_READS, CACHE_WRITES = "cache_read_input_tokens", "cache_creation_input_tokens"
COUNTS = ("input_tokens", "output_tokens", CACHE_READS)


def read_reply(body: JSON, seed: str = "") -> Reply:
    """The reply in a body; raises WireError with the invalid path."""
    root = require_object(body, "$")
    notes = Notes(seed)
    blocks = require_list(root.get("content"), "$.content", limit=MAX_BLOCKS)
    parts = [read_block(block, f"$.content[{i}]", notes) for i, block in enumerate(blocks)]
    stop = read_stop(root.get("stop_reason"), parts, notes)
    return assemble_reply(root, cut_last_call(parts, stop), stop, notes)


def assemble_reply(
    root: Mapping[str, JSON], parts: Sequence[Part], stop: Stop, notes: Notes
) -> Reply:
    """A reply from its parts and the surrounding message."""
    if repeats_id(parts):
        notes.note("duplicate_id", "$.content")
    usage = copy_object(root, "usage")
    reason = text_or_none(root.get("stop_reason"))
    more = unread_fields(root, *KNOWN) | fields_with_values(stop_sequence=root.get("stop_sequence"))
    if reason is not None and reason not in STOPS:
        more["stop_reason"] = reason
    if unread := unread_fields(usage, *COUNTS):
        more["usage"] = unread
    return Reply(
        parts=tuple(parts),
        stop=stop,
        usage=read_usage(usage),
        id=text_or_empty(root.get("id")),
        model=text_or_none(root.get("model")),
        stop_raw=reason,
        deviations=notes.deviations,
        extra=keep_extra(FORMAT, more),
        raw=root,
        error=read_reply_error(root["error"]) if root.get("error") else None,
    )


def read_stop(reason: JSON, parts: Sequence[Part], notes: Notes) -> Stop:
    """Why the model stopped; a reason that contradicts the blocks is ignored."""
    path = "$.stop_reason"
    called = has_calls(parts)
    inferred = Stop.TOOL_CALLS if called else Stop.END
    match reason:
        case None:
            notes.note("missing_stop_reason", path)
            return inferred
        case "end_turn" | "stop_sequence" if called:
            notes.note("stop_with_calls", path)
            return Stop.TOOL_CALLS
        case "tool_use" if not called:
            notes.note("tool_calls_missing", path)
            return Stop.END
        case str() if reason in STOPS:
            return STOPS[reason]
        case _:
            notes.note("unknown_stop_reason", path)
            return Stop.OTHER


def cut_last_call(parts: Sequence[Part], stop: Stop) -> list[Part]:
    """The parts, with the last call marked as cut off if the token limit ended the answer."""
    cut = list(parts)
    if stop is Stop.LENGTH and cut and isinstance(cut[-1], ToolCall | BrokenCall):
        cut[-1] = as_cut_off(cut[-1], f"$.content[{len(cut) - 1}].input")
    return cut


def write_reply(reply: Reply, head: ReplyHead = NO_HEAD) -> dict[str, JSON]:
    """The body that a client of this format expects."""
    reply = head.apply(reply)
    blocks = [block for part in reply.parts if (block := write_reply_block(part)) is not None]
    body: dict[str, JSON] = {
        "id": reply.id,
        "type": "message",
        "role": "assistant",
        "model": reply.model or "",
        "content": blocks,
        "stop_reason": stop_word(reply),
        "stop_sequence": None,
        "usage": write_usage(reply),
    }
    return body | unread_fields(own_fields(reply.extra, FORMAT), "usage", "stop_reason")


def write_reply_block(part: Part) -> dict[str, JSON] | None:
    """The block of a part; reasoning of another format gets no signature."""
    if isinstance(part, Image):
        return None
    block = write_block(part)
    if block is None and isinstance(part, Reasoning):
        return {"type": "thinking", "thinking": part.text, "signature": ""}
    return block


def stop_word(reply: Reply) -> str | None:
    """The stop reason in this format; None for an answer that broke off."""
    own_reason = own_fields(reply.extra, FORMAT).get("stop_reason")
    if reply.stop is Stop.OTHER and isinstance(own_reason, str):
        return own_reason
    if reply.stop is Stop.TOOL_CALLS and not reply.calls:
        return "end_turn"
    if reply.stop_raw in STOPS and STOPS[reply.stop_raw] is reply.stop:
        return reply.stop_raw
    return STOP_WORDS.get(reply.stop)


def write_usage(reply: Reply) -> dict[str, JSON]:
    own_usage = copy_object(own_fields(reply.extra, FORMAT), "usage")
    return write_counts(reply.usage, count_or_none(own_usage.get(CACHE_WRITES)) or 0) | own_usage


def write_counts(usage: Usage, written: int = 0) -> dict[str, JSON]:
    """The counts of a usage; `written` tokens were put in a cache."""
    cached = (usage.cached_tokens or 0) + written
    counts: dict[str, JSON] = {
        "input_tokens": max(0, (usage.input_tokens or 0) - cached),
        "output_tokens": usage.output_tokens or 0,
    }
    counts |= fields_with_values(cache_read_input_tokens=usage.cached_tokens)
    if usage.reasoning_tokens is not None:
        counts["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
    return counts


def read_error(body: JSON) -> ErrorBody | None:
    """The error in a body, or None."""
    if (error := read_base_resp(body)) is not None:
        return error
    match body:
        case {"type": "message"}:
            return None
        case {"error": {"message": str(message), **more}}:
            return bounded_error(message, more.get("type") or "")
        case _:
            return read_envelope(body)


def write_error(status: int, message: str) -> dict[str, JSON]:
    """The error envelope that a client of this format expects."""
    type_ = ERROR_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": type_, "message": message}}


def write_failure(error: ReplyError) -> dict[str, JSON]:
    """An error in this format; its clients compact their prompt when they read that phrase."""
    overflow = "prompt is too long: {tokens} tokens > {limit} maximum"
    message = error_text(error, overflow, unknown="prompt is too long: {message}")
    return {"type": "error", "error": {"type": ERROR_WORDS[error.kind], "message": message}}


def read_usage(usage: Mapping[str, JSON]) -> Usage:
    """The counts; in this format, `input_tokens` leaves out what is read from or put in a cache."""
    details = copy_object(usage, "output_tokens_details")
    uncached, cached, written = (
        count_or_none(usage.get(name)) for name in ("input_tokens", CACHE_READS, CACHE_WRITES)
    )
    return Usage(
        None if uncached is None else count_or_none(uncached + (cached or 0) + (written or 0)),
        count_or_none(usage.get("output_tokens")),
        count_or_none(details.get("thinking_tokens")),
        cached,
    )
