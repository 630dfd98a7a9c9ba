from __future__ import annotations

from collections.abc import Mapping

from probes.adapters.base import ErrorBody
from probes.adapters.error_bodies import bounded_error, read_base_resp, read_envelope
from probes.adapters.reply_errors import error_text
from probes.messages import JSON, ErrorKind, ReplyError

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}


# The type and the code of each kind.
WORDS: Mapping[ErrorKind, tuple[str, str | None]] = {
    ErrorKind.OVERLOADED: ("server_error", "overloaded"),
    ErrorKind.RATE_LIMIT: ("rate_limit_error", "rate_limit_exceeded"),
    ErrorKind.TIMEOUT: ("server_error", "timeout"),
    ErrorKind.SERVER: ("server_error", None),
    ErrorKind.CONTEXT_OVERFLOW: ("invalid_request_error", "context_length_exceeded"),
    ErrorKind.INVALID_REQUEST: ("invalid_request_error", None),
    ErrorKind.AUTHENTICATION: ("authentication_error", "invalid_api_key"),
    ErrorKind.PERMISSION: ("permission_error", None),
    ErrorKind.QUOTA: ("insufficient_quota", "insufficient_quota"),
    ErrorKind.NOT_FOUND: ("not_found_error", "model_not_found"),
}
OVERFLOW = (
    "This model's maximum context length is {limit} tokens. However, your messages resulted in "
    "{tokens} tokens."
)


def read_error(body: JSON) -> ErrorBody | None:
    """The error in a body, in any of the usual envelopes."""
    match body:
        case {"choices": [_, *_]}:
            return None
        case {"error": {"message": str(message), "code": str() | int() as code}}:
            return bounded_error(message, code)
        case _:
            return read_envelope(body) or read_base_resp(body)


def write_failure(error: ReplyError) -> dict[str, JSON]:
    """An error in OpenAI's envelope."""
    kind, code = WORDS[error.kind]
    message = error_text(error, OVERFLOW)
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def write_error(status: int, message: str) -> dict[str, JSON]:
    """OpenAI's envelope, which its clients read."""
    kind = _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}
