"""Ollama's /api/chat answer, unstreamed, and its errors, in both directions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from probes.adapters.base import ErrorBody
from probes.adapters.error_bodies import bounded_error, error_message
from probes.adapters.json_fields import (
    Notes,
    copy_object,
    count_or_none,
    fields_with_values,
    keep_extra,
    own_fields,
    require_object,
    text_or_none,
    unread_fields,
)
from probes.adapters.ollama.request import ASSISTANT_FIELDS, THINKING, read_assistant_parts
from probes.adapters.ollama.tools import FORMAT, write_call
from probes.adapters.reply_errors import prefixed_text, read_reply_error, reply_error
from probes.adapters.tool_calls import as_cut_off, has_calls
from probes.events import NO_HEAD, ReplyHead
from probes.messages import (
    JSON,
    Breakage,
    BrokenCall,
    Part,
    Reasoning,
    Reply,
    ReplyError,
    Stop,
    Text,
    ToolCall,
    Usage,
)

STOPS = {
    "stop": Stop.END,
    "length": Stop.LENGTH,
    "load": Stop.OTHER,
    "unload": Stop.OTHER,
}
KNOWN = ("model", "message", "done", "done_reason", "prompt_eval_count", "eval_count", "error")
UNPARSED = "error parsing tool call"
RAW_BEGINS, RAW_ENDS = "raw='", "', err="


def read_reply(body: JSON, seed: str = "") -> Reply:
    """The reply in a body, or a WireError with the path that breaks the format."""
    root = require_object(body, "$")
    notes = Notes(seed)
    if (error := error_message_text(root)) is not None:
        return failed_reply(root, (), error, notes)
    message = require_object(root.get("message"), "$.message")
    if message.get(THINKING) == "":
        message = unread_fields(message, THINKING)
    parts = read_assistant_parts(message, "$.message", notes, "")
    return assemble_reply(root, unread_fields(message, *ASSISTANT_FIELDS), parts, notes)


def assemble_reply(
    root: Mapping[str, JSON], message: Mapping[str, JSON], parts: Sequence[Part], notes: Notes
) -> Reply:
    """A reply from its parts and the surrounding fields."""
    stop = read_stop(root.get("done_reason"), parts, notes)
    more = unread_fields(root, *KNOWN)
    if message:
        more["message"] = dict(message)
    reason = text_or_none(root.get("done_reason"))
    if stop is Stop.OTHER and reason is not None:
        more["done_reason"] = reason
    return Reply(
        parts=tuple(cut_last_call(parts) if stop is Stop.LENGTH else parts),
        stop=stop,
        usage=Usage(
            count_or_none(root.get("prompt_eval_count")), count_or_none(root.get("eval_count"))
        ),
        model=text_or_none(root.get("model")),
        stop_raw=reason,
        deviations=notes.deviations,
        extra=keep_extra(FORMAT, more),
        raw=root,
    )


def failed_reply(
    root: Mapping[str, JSON], parts: Sequence[Part], message: str, notes: Notes
) -> Reply:
    """A reply that ended in an error; its text may quote a call that the server could not parse."""
    notes.note("error_in_answer", "$.error")
    broken = unparsed_call(message)
    reply = assemble_reply(root, {}, (*parts, *([broken] if broken else [])), Notes())
    more = own_fields(reply.extra, FORMAT) | {"error": message}
    return replace(
        reply,
        stop=Stop.MALFORMED_CALL if broken else Stop.ERROR,
        deviations=notes.deviations,
        extra=keep_extra(FORMAT, more),
        error=None if broken else read_reply_error(message),
    )


def unparsed_call(message: str) -> BrokenCall | None:
    """The call in an error message of a server that rejects its own model's output."""
    if not message.startswith(UNPARSED):
        return None
    begin = message.find(RAW_BEGINS)
    end = message.rfind(RAW_ENDS)
    raw = message[begin + len(RAW_BEGINS) : end if end > begin else None] if begin >= 0 else ""
    error = "The server could not parse the call of its own model."
    return BrokenCall(raw, error, Breakage.INVALID_JSON, path="$.error", format=FORMAT)


def read_stop(reason: JSON, parts: Sequence[Part], notes: Notes) -> Stop:
    """Why the model stopped; "stop" is also sent for calls."""
    inferred = Stop.TOOL_CALLS if has_calls(parts) else Stop.END
    match reason:
        case "stop":
            return inferred
        case None:
            notes.note("missing_done_reason", "$.done_reason")
            return inferred
        case str() if reason in STOPS:
            return STOPS[reason]
        case _:
            notes.note("unknown_done_reason", "$.done_reason")
            return Stop.OTHER


def cut_last_call(parts: Sequence[Part]) -> list[Part]:
    """The parts of an answer that the token limit ended: its last call is cut off."""
    cut = list(parts)
    for index in reversed(range(len(cut))):
        if isinstance(call := cut[index], ToolCall | BrokenCall):
            cut[index] = as_cut_off(call, "$.message.tool_calls")
            break
    return cut


def write_reply(reply: Reply, head: ReplyHead = NO_HEAD) -> dict[str, JSON]:
    """The body that a client of this format expects."""
    message: dict[str, JSON] = {"role": "assistant", "content": reply.text or ""}
    reasoning = [part.text for part in reply.parts if isinstance(part, Reasoning)]
    if reasoning:
        message[THINKING] = "".join(reasoning)
    if reply.calls:
        message["tool_calls"] = [write_call(call, i) for i, call in enumerate(reply.calls)]
    return write_last_line(message, head.apply(reply))


def write_last_line(message: dict[str, JSON], reply: Reply) -> dict[str, JSON]:
    """A whole answer, or the last line of a streamed one."""
    more = own_fields(reply.extra, FORMAT)
    body: dict[str, JSON] = {
        "model": reply.model or "",
        "message": message | copy_object(more, "message"),
        "done": True,
        "done_reason": stop_word(reply),
    }
    body |= fields_with_values(
        prompt_eval_count=reply.usage.input_tokens, eval_count=reply.usage.output_tokens
    )
    return body | unread_fields(more, "message", "error", "done_reason")


def stop_word(reply: Reply) -> str:
    own_reason = own_fields(reply.extra, FORMAT).get("done_reason")
    if reply.stop is Stop.OTHER and isinstance(own_reason, str):
        return own_reason
    return "length" if reply.stop is Stop.LENGTH else "stop"


def error_text(reply: Reply) -> str | None:
    """The error line of a failed stream, or None."""
    if reply.stop not in (Stop.ERROR, Stop.MALFORMED_CALL):
        return None
    error = own_fields(reply.extra, FORMAT).get("error")
    if isinstance(error, str):
        return error
    if reply.stop is Stop.MALFORMED_CALL and reply.broken:
        return reply.broken[0].error
    return prefixed_text(reply_error(reply))


def read_error(body: JSON) -> ErrorBody | None:
    """The error in a body, or None."""
    match body:
        case {"error": {"code": str() | int() as code}}:
            return bounded_error(error_message_text(body) or "", code)
        case _:
            message = error_message_text(body)
            return None if message is None else bounded_error(message)


def error_message_text(body: JSON) -> str | None:
    """The whole text of an error; it may quote a long call."""
    if (message := error_message(body)) is not None:
        return message
    match body:
        # Some versions use the kind of the error as the field name.
        case {"error parsing tool call": str(quoted)}:
            return f"{UNPARSED}: {quoted}"
        case {"error": Mapping() as error}:
            return json.dumps(dict(error))
        case _:
            return None


def write_error(status: int, message: str) -> dict[str, JSON]:
    """The error envelope that a client of this format expects."""
    return {"error": message}


def write_failure(error: ReplyError) -> dict[str, JSON]:
    """An error in this format, which has nothing but a text; its kind is said there."""
    return {"error": prefixed_text(error)}


def plain_text(part: Part) -> str:
    return part.text if isinstance(part, Text | Reasoning) else ""
