"""Gemini's answer, unstreamed, and its errors, in both directions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from probes.adapters.base import ErrorBody
from probes.adapters.error_bodies import bounded_error, read_envelope
from probes.adapters.gemini.content_parts import (
    FORMAT,
    MAX_PARTS,
    camel_case_fields,
    is_plain,
    read_part,
    write_part,
)
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
from probes.adapters.reply_errors import STATUSES as STATUS_CODES
from probes.adapters.reply_errors import error_text, read_reply_error
from probes.adapters.tool_calls import CUT, as_broken, has_calls, repeats_id
from probes.errors import WireError
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
    ToolCall,
    Usage,
)

PARTS = "$.candidates[0].content.parts"
MALFORMED = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL")
REFUSALS = (
    "SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY "
    "IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION"
)
OTHERS = (
    "OTHER FINISH_REASON_UNSPECIFIED TOO_MANY_TOOL_CALLS NO_IMAGE IMAGE_OTHER MALFORMED_RESPONSE"
)
STOPS = (
    {"STOP": Stop.END, "MAX_TOKENS": Stop.LENGTH, "CONTINUATION": Stop.PAUSE}
    | dict.fromkeys(MALFORMED, Stop.MALFORMED_CALL)
    | dict.fromkeys(REFUSALS.split(), Stop.REFUSAL)
    | dict.fromkeys(OTHERS.split(), Stop.OTHER)
)
WORDS = {
    Stop.END: "STOP",
    Stop.TOOL_CALLS: "STOP",
    Stop.LENGTH: "MAX_TOKENS",
    Stop.REFUSAL: "SAFETY",
    Stop.MALFORMED_CALL: "MALFORMED_FUNCTION_CALL",
}
STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
TOO_LONG = "The input exceeds the maximum number of tokens allowed"
RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
KNOWN = ("candidates", "usageMetadata", "modelVersion", "responseId")
COUNTS = (
    "promptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "cachedContentTokenCount",
)


def read_reply(body: JSON, seed: str = "") -> Reply:
    """The reply in a body; raises WireError with the invalid path."""
    root = require_object(body, "$")
    notes = Notes(seed)
    candidate = first_candidate(root, notes)
    if not candidate and "promptFeedback" not in root:
        raise WireError("The answer has no candidates.", "$.candidates")
    items = require_list(
        copy_object(candidate, "content").get("parts") or [], PARTS, limit=MAX_PARTS
    )
    id_ = text_or_empty(root.get("responseId"))
    parts = [
        read_part(item, f"{PARTS}[{index}]", notes, f"{id_}\n{index}")
        for index, item in enumerate(_join_text_parts(items))
    ]
    return assemble_reply(root, candidate, parts, notes)


def first_candidate(root: Mapping[str, JSON], notes: Notes) -> Mapping[str, JSON]:
    """The candidate that is read; empty if there is none."""
    candidates = require_list(root.get("candidates") or [], "$.candidates", limit=MAX_PARTS)
    if len(candidates) > 1:
        notes.note("extra_choices", "$.candidates")
    return require_object(candidates[0], "$.candidates[0]") if candidates else {}


def assemble_reply(
    root: Mapping[str, JSON], candidate: Mapping[str, JSON], parts: Sequence[Part], notes: Notes
) -> Reply:
    """A reply from its parts and the surrounding fields."""
    reason = candidate.get("finishReason") or copy_object(root, "promptFeedback").get("blockReason")
    stop = read_stop(candidate, root, parts, notes)
    if repeats_id(parts):
        notes.note("duplicate_id", PARTS)
    usage = copy_object(root, "usageMetadata")
    more = unread_fields(root, *KNOWN)
    if unread := unread_fields(candidate, "content", "finishReason", "index"):
        more["candidate"] = unread
    if unread := unread_fields(usage, *COUNTS):
        more["usageMetadata"] = unread
    stop_reason = text_or_none(reason)
    if stop_reason is not None and stop is Stop.OTHER:
        more["finishReason"] = stop_reason
    return Reply(
        parts=tuple(settle_parts(parts, stop, stop_reason)),
        stop=stop,
        usage=read_usage(usage),
        id=text_or_empty(root.get("responseId")),
        model=text_or_none(root.get("modelVersion")),
        stop_raw=stop_reason,
        deviations=notes.deviations,
        extra=keep_extra(FORMAT, more),
        raw=root,
        error=read_reply_error(root["error"]) if root.get("error") else None,
    )


def read_usage(usage: Mapping[str, JSON]) -> Usage:
    return Usage(*(count_or_none(usage.get(name)) for name in COUNTS))


def read_stop(
    candidate: Mapping[str, JSON], root: Mapping[str, JSON], parts: Sequence[Part], notes: Notes
) -> Stop:
    """Why the model stopped. STOP is also sent for calls."""
    inferred = Stop.TOOL_CALLS if has_calls(parts) else Stop.END
    match candidate.get("finishReason"):
        case "STOP":
            return inferred
        case str(reason) if reason in STOPS:
            return STOPS[reason]
        case None if not candidate and copy_object(root, "promptFeedback").get("blockReason"):
            return Stop.REFUSAL
        case None:
            notes.note("missing_finish_reason", "$.candidates[0].finishReason")
            return inferred
        case _:
            notes.note("unknown_finish_reason", "$.candidates[0].finishReason")
            return Stop.OTHER


def settle_parts(parts: Sequence[Part], stop: Stop, reason: str | None) -> list[Part]:
    """The parts under the finish reason: a call that it rejects becomes a broken call."""
    settled = list(parts)
    if stop is Stop.MALFORMED_CALL:
        kind = Breakage.UNKNOWN_TOOL if reason == "UNEXPECTED_TOOL_CALL" else Breakage.INVALID_JSON
        error = f"The endpoint says that its own call is broken: {reason}."
        return [_disown_call(part, error, kind) for part in settled]
    if stop is Stop.LENGTH and settled and isinstance(settled[-1], ToolCall | BrokenCall):
        settled[-1] = _disown_call(settled[-1], CUT, Breakage.TRUNCATED_CALL)
    return settled


def write_reply(reply: Reply, head: ReplyHead = NO_HEAD) -> dict[str, JSON]:
    """The body that a client of this format expects."""
    parts = [part for item in reply.parts if (part := write_reply_part(item)) is not None]
    return write_chunk(parts, head.apply(reply))


def write_chunk(parts: Sequence[JSON], reply: Reply) -> dict[str, JSON]:
    """A whole answer, or the last chunk of a streamed one."""
    more = own_fields(reply.extra, FORMAT)
    usage = reply.usage
    counts = (
        usage.input_tokens,
        usage.output_tokens,
        usage.reasoning_tokens,
        usage.cached_tokens,
    )
    metadata = fields_with_values(**dict(zip(COUNTS, counts, strict=True))) | copy_object(
        more, "usageMetadata"
    )
    body: dict[str, JSON] = {}
    if parts or "promptFeedback" not in more:
        candidate: dict[str, JSON] = {
            "content": {"role": "model", "parts": list(parts)},
            "finishReason": stop_word(reply),
            "index": 0,
        }
        body["candidates"] = [candidate | copy_object(more, "candidate")]
    if metadata:
        body["usageMetadata"] = metadata
    body |= fields_with_values(modelVersion=reply.model, responseId=reply.id or None)
    return body | unread_fields(more, "candidate", "usageMetadata", "finishReason", "error")


def write_reply_part(part: Part) -> dict[str, JSON] | None:
    """The part; reasoning of another format becomes an unsigned thought."""
    written = write_part(part)
    if written is None and isinstance(part, Reasoning):
        return {"text": part.text, "thought": True}
    return written


def stop_word(reply: Reply) -> str:
    """The finish reason in this format."""
    own_reason = own_fields(reply.extra, FORMAT).get("finishReason")
    if reply.stop is Stop.OTHER and isinstance(own_reason, str):
        return own_reason
    if reply.stop_raw in STOPS and STOPS[reply.stop_raw] is reply.stop:
        return reply.stop_raw
    return WORDS.get(reply.stop, "OTHER")


def read_error(body: JSON) -> ErrorBody | None:
    """The error in a body, or None."""
    match body:
        case {"candidates": [_, *_]}:
            return None
        # Without alt=sse a stream is a list, and so is its error.
        case [{"error": _} as only]:
            return read_error(only)
        case {"error": {"message": str(message), **more}}:
            code = more.get("status") or more.get("code") or ""
            return bounded_error(message, code)
        case _:
            return read_envelope(body)


def write_error(status: int, message: str) -> dict[str, JSON]:
    """The error envelope that a client of this format expects."""
    status_name = STATUSES.get(status, "INTERNAL" if status >= 500 else "FAILED_PRECONDITION")
    return {"error": {"code": status, "message": message, "status": status_name}}


def write_failure(error: ReplyError) -> dict[str, JSON]:
    """An error in this format, with the delay that its clients wait for."""
    overflow = (
        "The input token count ({tokens}) exceeds the maximum number of tokens allowed ({limit})."
    )
    body: dict[str, JSON] = {
        "code": STATUS_CODES[error.kind],
        "message": error_text(error, overflow, unknown=f"{TOO_LONG}: {{message}}"),
        "status": STATUSES[STATUS_CODES[error.kind]],
    }
    if error.retry_after is not None:
        delay: JSON = {"@type": RETRY_INFO, "retryDelay": f"{error.retry_after:g}s"}
        body["details"] = [delay]
    return {"error": body}


def _join_text_parts(items: Sequence[JSON]) -> list[JSON]:
    """The parts as read from a stream: plain text of one kind in one part."""
    runs: list[tuple[dict[str, JSON], list[str]]] = []
    for index, item in enumerate(items):
        entry = camel_case_fields(require_object(item, f"{PARTS}[{index}]"))
        content = entry.get("text")
        if not is_plain(entry) or not isinstance(content, str):
            runs.append((entry, []))
        elif (
            runs
            and runs[-1][1]
            and unread_fields(runs[-1][0], "text") == unread_fields(entry, "text")
        ):
            runs[-1][1].append(content)
        elif content:
            runs.append((entry, [content]))
    return [entry | ({"text": "".join(texts)} if texts else {}) for entry, texts in runs]


def _disown_call(part: Part, error: str, kind: Breakage) -> Part:
    match part:
        case ToolCall():
            return as_broken(part, error, kind, PARTS)
        case BrokenCall():
            return replace(part, error=error, kind=kind)
        case _:
            return part
