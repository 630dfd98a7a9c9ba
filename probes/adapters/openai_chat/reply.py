from __future__ import annotations

from collections.abc import Mapping, Sequence

from probes.adapters.json_fields import (
    count_or_none,
    join_levels,
    keep_extra,
    object_or_empty,
    require_list,
    require_object,
    text_or_empty,
    text_or_none,
    unread_fields,
)
from probes.adapters.openai_chat.assistant_message import FORMAT, MessageReader, message_leftover
from probes.adapters.reply_errors import read_reply_error
from probes.adapters.tool_calls import as_cut_off, has_calls
from probes.errors import WireError
from probes.messages import (
    JSON,
    BrokenCall,
    Deviation,
    Part,
    Reply,
    ReplyError,
    Stop,
    ToolCall,
    Usage,
)

STOPS = {
    "stop": Stop.END,
    "tool_calls": Stop.TOOL_CALLS,
    "function_call": Stop.TOOL_CALLS,
    "length": Stop.LENGTH,
    "content_filter": Stop.REFUSAL,
    "error": Stop.ERROR,
}
MESSAGE = "$.choices[0].message"
FINISH = "$.choices[0].finish_reason"
KNOWN_BODY = ("id", "object", "model", "choices", "usage", "system_fingerprint")
KNOWN_CHOICE = ("index", "message", "delta", "finish_reason")


def read_reply(body: JSON, seed: str = "") -> Reply:
    """The reply in a Chat Completions body; raises WireError with the invalid path."""
    reading = MessageReader(MESSAGE, seed)
    root = require_object(body, "$")
    choice = _choice(root, reading)
    message = require_object(choice.get("message"), MESSAGE)
    reason = text_or_none(choice.get("finish_reason"))
    if reason not in STOPS:
        reading.note("unknown_finish_reason", FINISH)
    parts = cut_last_call(reading.parts(message), STOPS.get(reason or ""))
    stop, notes = settle_stop(reason, parts)
    usage = read_usage(root.get("usage"))
    return Reply(
        parts=tuple(parts),
        stop=stop,
        usage=usage,
        id=text_or_empty(root.get("id")),
        model=text_or_none(root.get("model")),
        fingerprint=text_or_none(root.get("system_fingerprint")),
        stop_raw=reason,
        deviations=(*reading.deviations, *notes),
        extra=reply_extra(root, choice, message_leftover(message)),
        raw=root,
        error=read_answer_error(root, choice) if stop is Stop.ERROR else None,
    )


def read_answer_error(root: Mapping[str, JSON], choice: Mapping[str, JSON]) -> ReplyError | None:
    """The error beside the choices, or in one of them, as relays send it."""
    error = root.get("error") or choice.get("error") or root.get("base_resp")
    if isinstance(error, Mapping) and "status_msg" in error:
        error = {"message": error["status_msg"], "code": error.get("status_code")}
    return read_reply_error(error) if error else None


def settle_stop(reason: str | None, parts: Sequence[Part]) -> tuple[Stop, list[Deviation]]:
    """Why the model stopped: if the endpoint's reason and the calls disagree, the calls count."""
    called = has_calls(parts)
    stop = STOPS.get(reason or "", Stop.OTHER)
    if stop is Stop.END and called:
        return Stop.TOOL_CALLS, [Deviation("stop_with_calls", FINISH)]
    if reason == "tool_calls" and not called:
        return Stop.END, [Deviation("tool_calls_missing", f"{MESSAGE}.tool_calls")]
    return stop, []


def cut_last_call(parts: Sequence[Part], stop: Stop | None) -> list[Part]:
    """The parts; the token limit cuts the last call, even if its JSON looks complete."""
    cut = list(parts)
    if stop is Stop.LENGTH and cut and isinstance(cut[-1], ToolCall | BrokenCall):
        calls = sum(isinstance(part, ToolCall | BrokenCall) for part in cut)
        path = f"{MESSAGE}.tool_calls[{calls - 1}].function.arguments"
        cut[-1] = as_cut_off(cut[-1], path)
    return cut


def read_usage(value: JSON) -> Usage:
    """The counts in a usage object; None for values that are no counts."""
    usage = object_or_empty(value)
    prompt = object_or_empty(usage.get("prompt_tokens_details"))
    completion = object_or_empty(usage.get("completion_tokens_details"))
    return Usage(
        count_or_none(usage.get("prompt_tokens")),
        count_or_none(usage.get("completion_tokens")),
        count_or_none(completion.get("reasoning_tokens")),
        count_or_none(prompt.get("cached_tokens")),
    )


def write_usage(usage: Usage) -> dict[str, JSON]:
    """The usage object for these counts; empty if the endpoint counted nothing."""
    if usage == Usage():
        return {}
    input_tokens, output_tokens = usage.input_tokens or 0, usage.output_tokens or 0
    body: dict[str, JSON] = {
        "prompt_tokens": input_tokens,
        "completion_tokens": output_tokens,
        "total_tokens": input_tokens + output_tokens,
    }
    if usage.cached_tokens is not None:
        body["prompt_tokens_details"] = {"cached_tokens": usage.cached_tokens}
    if usage.reasoning_tokens is not None:
        body["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return body


def reply_extra(
    root: Mapping[str, JSON], choice: Mapping[str, JSON], message: Mapping[str, JSON]
) -> dict[str, JSON]:
    """What a reply keeps of its body: unread fields by level, and a more detailed usage."""
    fields = join_levels(
        unread_fields(root, *KNOWN_BODY),
        choice=unread_fields(choice, *KNOWN_CHOICE),
        message=dict(message),
        usage=_differing_usage(root.get("usage")),
    )
    return dict(keep_extra(FORMAT, fields))


def _differing_usage(value: JSON) -> JSON:
    """The usage as received, if our counts would not reproduce it."""
    usage = dict(object_or_empty(value))
    written = write_usage(read_usage(usage))
    return None if {**written, **usage} == written else usage


def _choice(root: Mapping[str, JSON], reading: MessageReader) -> Mapping[str, JSON]:
    choices = require_list(root.get("choices"), "$.choices")
    if not choices:
        raise WireError("The answer has no choices.", "$.choices")
    if len(choices) > 1:
        reading.note("extra_choices", "$.choices")
    return require_object(choices[0], "$.choices[0]")
