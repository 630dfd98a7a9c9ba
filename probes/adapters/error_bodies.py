"""The envelopes in which an endpoint of any format may report an error."""

from __future__ import annotations

import json
from collections.abc import Mapping

from probes.adapters.base import ErrorBody
from probes.messages import JSON

MAX_ERROR = 2000
MAX_CODE = 100


def bounded_error(message: str, code: object = "") -> ErrorBody:
    """An error cut to the size limits."""
    return ErrorBody(message[:MAX_ERROR], str(code)[:MAX_CODE])


def read_envelope(body: JSON) -> ErrorBody | None:
    """The error in the usual envelopes, without its code, or None."""
    if (message := error_message(body)) is not None:
        return bounded_error(message)
    match body:
        case {"error": Mapping() as error} if error:
            return bounded_error(json.dumps(dict(error)))
        case _:
            return None


def read_base_resp(body: JSON) -> ErrorBody | None:
    """The error that some vendors report inside an otherwise normal answer, or None."""
    match body:
        case {"base_resp": {"status_code": int(code), "status_msg": str(message)}} if code:
            return bounded_error(message, code)
        case _:
            return None


def error_message(body: JSON) -> str | None:
    """The whole text of an error; it may quote a long call."""
    match body:
        case (
            {"error": str(message)}
            | {"error": {"message": str(message)}}
            | {"message": str(message)}
            | {"detail": str(message)}
        ):
            return message
        case _:
            return None
