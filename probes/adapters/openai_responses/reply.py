"""Answers of the Responses API, read and written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from probes.adapters.base import ErrorBody
from probes.adapters.json_fields import (
    count_or_none,
    join_levels,
    keep_extra,
    list_or_empty,
    object_or_empty,
    own_inner_fields,
    own_outer_fields,
    require_list,
    require_object,
    text_or_empty,
    text_or_none,
    unread_fields,
)
from probes.adapters.openai_chat import errors
from probes.adapters.openai_responses.items import FORMAT, item_parts, write_items
from probes.adapters.reply_errors import (
    error_text,
    keeps_error,
    read_reply_error,
    reply_error,
)
from probes.adapters.tool_calls import as_cut_off, has_calls, repeats_id
from probes.errors import WireError
from probes.events import NO_HEAD, ReplyHead
from probes.messages import (
    JSON,
    BrokenCall,
    Deviation,
    ErrorKind,
    Part,
    Reply,
    Stop,
    Text,
    ToolCall,
    Usage,
)
from probes.streams.assembler import text_label

MAX_ITEMS = 1024
KNOWN_BODY = ("id", "object", "status", "error", "incomplete_details", "model", "output", "usage")
# Codex gives up on these, although another try may succeed.
FATAL = ("server_is_overloaded", "slow_down")
ERROR_CODES = {
    ErrorKind.RATE_LIMIT: "rate_limit_exceeded",
    ErrorKind.CONTEXT_OVERFLOW: "context_length_exceeded",
    ErrorKind.INVALID_REQUEST: "invalid_prompt",
    ErrorKind.QUOTA: "insufficient_quota",
}
REASONS = {"max_output_tokens": Stop.LENGTH, "content_filter": Stop.REFUSAL}


def read_reply(body: JSON, seed: str = "") -> Reply:
    """The reply in a Responses body; raises WireError with the invalid path."""
    root = require_object(body, "$")
    items = require_list(root.get("output"), "$.output")
    if len(items) > MAX_ITEMS:
        raise WireError(f"The answer has more than {MAX_ITEMS} items.", "$.output")
    parts: list[Part] = []
    for index, item in enumerate(items):
        require_object(item, f"$.output[{index}]")
        parts += item_parts(item, f"$.output[{index}]", seed)
    stop = read_stop(root, parts)
    if stop is Stop.LENGTH:
        parts = cut_last_call(parts, len(items) - 1)
    return build_reply(root, parts, stop, _deviations(root, parts))


def build_reply(
    root: Mapping[str, JSON],
    parts: Sequence[Part],
    stop: Stop,
    deviations: Sequence[Deviation] = (),
) -> Reply:
    """A reply from the body's own fields and its parts."""
    return Reply(
        parts=tuple(parts),
        stop=stop,
        usage=read_usage(root.get("usage")),
        id=text_or_empty(root.get("id")),
        model=text_or_none(root.get("model")),
        stop_raw=_stop_raw(root),
        deviations=tuple(deviations),
        extra=_extra(root),
        raw=root,
        error=read_reply_error(root["error"]) if root.get("error") else None,
    )


def read_stop(root: Mapping[str, JSON], parts: Sequence[Part]) -> Stop:
    """Why the model stopped. The format has no reason for calls, so their presence decides."""
    match root.get("status"):
        case "incomplete":
            reason = object_or_empty(root.get("incomplete_details")).get("reason")
            return REASONS.get(text_or_empty(reason), Stop.OTHER)
        case "failed" | "cancelled":
            return Stop.ERROR
        case "completed" | None:
            return _completed(parts)
        case _:
            return Stop.OTHER


def cut_last_call(parts: Sequence[Part], index: int) -> list[Part]:
    """The parts; the token limit cuts a call at the end, even if its JSON looks complete."""
    settled = list(parts)
    if settled and isinstance(settled[-1], ToolCall | BrokenCall):
        path = f"$.output[{index}].arguments"
        settled[-1] = as_cut_off(settled[-1], path)
    return settled


def write_reply(reply: Reply, head: ReplyHead = NO_HEAD) -> dict[str, JSON]:
    """The body that answers a client. Broken calls are dropped."""
    reply = head.apply(reply)
    status, reason = _status(reply)
    body: dict[str, JSON] = {
        "id": reply.id,
        "object": "response",
        "created_at": head.created,
        "status": status,
        "error": _write_error(reply) if status == "failed" else None,
        "incomplete_details": {"reason": reason} if reason else None,
        "model": reply.model or "",
        "output": write_items(reply.parts, seed=reply.id),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    if usage := _write_usage(reply):
        body["usage"] = usage
    return body | own_outer_fields(reply.extra, FORMAT)


def _write_error(reply: Reply) -> dict[str, JSON]:
    own = own_inner_fields(reply.extra, FORMAT, "error")
    if keeps_error(own, reply) and own.get("code") not in FATAL:
        return own
    error = reply_error(reply)
    message = error_text(error, errors.OVERFLOW)
    if error.retry_after is not None and "try again in" not in message:
        message += f" Please try again in {error.retry_after:g}s."
    return {"code": ERROR_CODES.get(error.kind, "server_error"), "message": message}


def read_error(body: JSON) -> ErrorBody | None:
    """The error in a body, or None."""
    match body:
        case {"output": [_, *_]}:
            return None
        case _:
            return errors.read_error(body)


def read_usage(value: JSON) -> Usage:
    """The counts in a usage object; None for values that are no counts."""
    usage = object_or_empty(value)
    input_details = object_or_empty(usage.get("input_tokens_details"))
    output_details = object_or_empty(usage.get("output_tokens_details"))
    return Usage(
        count_or_none(usage.get("input_tokens")),
        count_or_none(usage.get("output_tokens")),
        count_or_none(output_details.get("reasoning_tokens")),
        count_or_none(input_details.get("cached_tokens")),
    )


def _completed(parts: Sequence[Part]) -> Stop:
    if has_calls(parts):
        return Stop.TOOL_CALLS
    refused = any(isinstance(part, Text) and text_label(part) for part in parts)
    return Stop.REFUSAL if refused else Stop.END


def _stop_raw(root: Mapping[str, JSON]) -> str | None:
    reason = text_or_none(object_or_empty(root.get("incomplete_details")).get("reason"))
    return reason or text_or_none(root.get("status"))


def _status(reply: Reply) -> tuple[str, str]:
    """The status and, for an answer that was cut short, the reason."""
    match reply.stop:
        case Stop.ERROR:
            return "failed", ""
        case Stop.LENGTH:
            return "incomplete", "max_output_tokens"
        case Stop.REFUSAL if not any(
            isinstance(part, Text) and text_label(part) for part in reply.parts
        ):
            return "incomplete", "content_filter"
        case _:
            return "completed", ""


def _deviations(root: Mapping[str, JSON], parts: Sequence[Part]) -> list[Deviation]:
    notes = []
    if root.get("status") not in ("completed", "incomplete", "failed", "cancelled"):
        notes.append(Deviation("unknown_status", "$.status"))
    if repeats_id(parts):
        notes.append(Deviation("duplicate_id", "$.output"))
    items = [object_or_empty(item) for item in list_or_empty(root.get("output"))]
    if any(i.get("type") == "function_call" and not i.get("call_id") for i in items):
        notes.append(Deviation("missing_id", "$.output"))
    return notes


def _extra(root: Mapping[str, JSON]) -> dict[str, JSON]:
    usage = dict(object_or_empty(root.get("usage")))
    written = _usage_body(read_usage(usage))
    fields = join_levels(
        unread_fields(root, *KNOWN_BODY),
        error=dict(object_or_empty(root.get("error"))),
        usage=None if {**written, **usage} == written else usage,
    )
    return dict(keep_extra(FORMAT, fields))


def _write_usage(reply: Reply) -> dict[str, JSON]:
    own_usage = own_inner_fields(reply.extra, FORMAT, "usage")
    if own_usage and read_usage(own_usage) == reply.usage:
        return own_usage
    return _usage_body(reply.usage) if reply.usage != Usage() else {}


def _usage_body(usage: Usage) -> dict[str, JSON]:
    input_tokens, output_tokens = usage.input_tokens or 0, usage.output_tokens or 0
    return {
        "input_tokens": input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens or 0},
        "output_tokens": output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "total_tokens": input_tokens + output_tokens,
    }
