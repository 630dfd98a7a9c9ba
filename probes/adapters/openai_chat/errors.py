from __future__ import annotations

from probes.adapters.base import ErrorBody
from probes.adapters.error_bodies import bounded_error, read_base_resp, read_envelope
from probes.messages import JSON

INTERRUPTED = "The answer broke off before it was complete."
_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}


def read_error(body: JSON) -> ErrorBody | None:
    """The error in a body, in any of the usual envelopes."""
    match body:
        case {"choices": [_, *_]}:
            return None
        case {"error": {"message": str(message), "code": str() | int() as code}}:
            return bounded_error(message, code)
        case _:
            return read_envelope(body) or read_base_resp(body)


def write_error(status: int, message: str) -> dict[str, JSON]:
    """OpenAI's envelope, which its clients read."""
    kind = _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}
