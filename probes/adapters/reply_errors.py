"""Errors inside an answer: their meaning in every format's words, and the words for a meaning.

A client decides by these words whether it retries, waits, shortens its prompt or gives up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from probes.adapters.error_bodies import MAX_CODE, MAX_ERROR, error_message
from probes.messages import JSON, ErrorKind, Reply, ReplyError

MAX_RETRY_AFTER_S = 24 * 3600
INTERRUPTED = ReplyError(ErrorKind.SERVER, "The answer broke off before it was complete.")
# The HTTP status of an answer that is nothing but the error.
STATUSES: Mapping[ErrorKind, int] = MappingProxyType(
    {
        ErrorKind.OVERLOADED: 503,
        ErrorKind.RATE_LIMIT: 429,
        ErrorKind.TIMEOUT: 504,
        ErrorKind.SERVER: 500,
        ErrorKind.CONTEXT_OVERFLOW: 400,
        ErrorKind.INVALID_REQUEST: 400,
        ErrorKind.AUTHENTICATION: 401,
        ErrorKind.PERMISSION: 403,
        ErrorKind.QUOTA: 403,
        ErrorKind.NOT_FOUND: 404,
    }
)
# Types, codes and statuses of all formats, in lower case.
_WORDS = {
    ErrorKind.OVERLOADED: "overloaded_error overloaded server_is_overloaded slow_down 503 529 "
    "unavailable engine_overloaded engine_overloaded_error service_unavailable",
    ErrorKind.RATE_LIMIT: "rate_limit_error rate_limit_exceeded resource_exhausted 429 "
    "too_many_requests rate_limit_reached_error",
    ErrorKind.TIMEOUT: "timeout_error timeout deadline_exceeded 504 408",
    ErrorKind.CONTEXT_OVERFLOW: "context_length_exceeded request_too_large string_above_max_length",
    ErrorKind.INVALID_REQUEST: "invalid_request_error invalid_argument 400 invalid_prompt 422 "
    "failed_precondition bad_request_error",
    ErrorKind.AUTHENTICATION: "authentication_error unauthenticated 401 invalid_api_key",
    ErrorKind.PERMISSION: "permission_error permission_denied 403",
    ErrorKind.QUOTA: "billing_error insufficient_quota 402 usage_not_included",
    ErrorKind.NOT_FOUND: "not_found_error not_found 404 model_not_found",
    ErrorKind.SERVER: "api_error server_error internal_error internal 500 502",
}
_KINDS = {word: kind for kind, words in _WORDS.items() for word in words.split()}
_OVERFLOWS = (
    re.compile(r"prompt is too long: (?P<tokens>\d{1,12}) tokens > (?P<limit>\d{1,12}) maximum"),
    re.compile(
        r"maximum context length is (?P<limit>\d{1,12}) tokens.{0,80}?(?:requested|resulted in) "
        r"(?P<tokens>\d{1,12})"
    ),
    re.compile(
        r"input token count \(?(?P<tokens>\d{1,12})\)? exceeds the maximum number of tokens "
        r"allowed \(?(?P<limit>\d{1,12})"
    ),
)
# Where only a message says it; a stream of Ollama's has nothing else.
_MESSAGES = (
    (ErrorKind.CONTEXT_OVERFLOW, ("prompt is too long", "context length", "context window")),
    (ErrorKind.CONTEXT_OVERFLOW, ("maximum number of tokens", "exceeds the available context")),
    (ErrorKind.RATE_LIMIT, ("rate limit", "too many requests")),
    (ErrorKind.OVERLOADED, ("overloaded", "server busy", "at capacity")),
    (ErrorKind.TIMEOUT, ("timed out", "deadline exceeded")),
)
# How we ourselves say the kind where there is only a text.
_PREFIXES = {str(kind).replace("_", " "): kind for kind in ErrorKind}
_RETRY = re.compile(r"(?:try again|retry) in (\d{1,6}(?:\.\d{1,6})?) ?(ms|s|m)", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1, "m": 60}


def read_reply_error(error: JSON) -> ReplyError:
    """The meaning of an error object, or of a bare message."""
    fields = error if isinstance(error, Mapping) else {}
    inner = fields.get("error")
    if isinstance(inner, Mapping):
        return read_reply_error(inner)
    message = error if isinstance(error, str) else (error_message(error) or "")
    words = [str(fields[name]) for name in ("code", "type", "status") if fields.get(name)]
    return ReplyError(
        _kind(words, message),
        message[:MAX_ERROR],
        (words[0] if words else "")[:MAX_CODE],
        _retry_after(fields, message),
    )


def reply_error(reply: Reply) -> ReplyError:
    """The error that ended a reply, or that of an answer that broke off."""
    return reply.error or INTERRUPTED


def keeps_error(own: Mapping[str, JSON], reply: Reply) -> bool:
    """Whether an error as it was received still says what the reply says."""
    return bool(own) and (reply.error is None or read_reply_error(own) == reply.error)


def error_text(error: ReplyError, overflow: str, *, unknown: str = "{message}") -> str:
    """The message of an error; that of an overflow in words that a client knows.

    `overflow` has the places {tokens} and {limit}; `unknown` is for messages without figures.
    """
    if error.kind is not ErrorKind.CONTEXT_OVERFLOW:
        return error.message
    found = next(filter(None, (pattern.search(error.message) for pattern in _OVERFLOWS)), None)
    if found is not None:
        return overflow.format(**found.groupdict())
    return unknown.format(message=error.message)


def prefixed_text(error: ReplyError) -> str:
    """The message of an error, with its kind in front unless the message itself tells it."""
    if read_reply_error(error.message).kind is error.kind:
        return error.message
    return f"{str(error.kind).replace('_', ' ')}: {error.message}"


def _kind(words: list[str], message: str) -> ErrorKind:
    lower = message.lower()
    if (head := lower.partition(": ")[0]) in _PREFIXES:
        return _PREFIXES[head]
    said = [kind for kind, texts in _MESSAGES if any(text in lower for text in texts)]
    named = [_KINDS[word.lower()] for word in words if word.lower() in _KINDS]
    # An overflow is an invalid request to most vendors; their message says more than the code.
    if said and (not named or set(named) <= {ErrorKind.INVALID_REQUEST, ErrorKind.SERVER}):
        return said[0]
    return named[0] if named else ErrorKind.SERVER


def _retry_after(fields: Mapping[str, JSON], message: str) -> float | None:
    found = next(_delays(fields), None) or _RETRY.search(message)
    if found is None:
        return None
    return min(float(found.group(1)) * _SECONDS[found.group(2).lower()], MAX_RETRY_AFTER_S)


def _delays(fields: Mapping[str, JSON]) -> Iterator[re.Match[str]]:
    """Gemini's delay, such as "34s", among the details of its error."""
    details = fields.get("details")
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, Mapping) else None
        if isinstance(delay, str) and (match := re.fullmatch(r"(\d{1,6}(?:\.\d{1,9})?)(s)", delay)):
            yield match
