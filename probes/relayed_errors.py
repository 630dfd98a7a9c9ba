"""The vendor's own error inside the error of a relay."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from probes.adapters.base import ErrorBody
from probes.messages import JSON
from probes.strict_json import parse_json

MAX_MESSAGE = 16_000
MAX_LEVELS = 4
# A relay's prefix is short; later in the text the same words are the vendor's.
MAX_PREFIX = 300
# The HTTP status that a code of MiniMax's `base_resp` stands for; other codes refuse the request.
BASE_RESP_STATUS = {
    1000: 500,  # unknown error
    1001: 504,  # request timeout
    1002: 429,  # rate limit
    1004: 401,  # not authorized
    1013: 500,  # internal service error
    1024: 500,  # internal error
    1033: 500,  # system error
    1039: 429,  # token limit
    1041: 429,  # connection limit
    2045: 429,  # rate growth limit
    2049: 401,  # invalid API key
    2056: 429,  # usage limit
}


@dataclass(frozen=True, slots=True)
class ErrorLayer:
    """One layer of a wrapped error; `status` if the layer names that of the inner error."""

    message: str
    code: str = ""
    status: int | None = None


def error_layers(error: ErrorBody) -> list[ErrorLayer]:
    """The error as received and the errors wrapped in it, innermost last."""
    layers = [ErrorLayer(error.message[:MAX_MESSAGE], error.code)]
    while len(layers) < MAX_LEVELS and (inner := _unwrap(layers[-1].message)) is not None:
        layers.append(inner)
    return layers


def error_inside(body: JSON) -> ErrorBody | None:
    """The error in the `base_resp` of a MiniMax 200; its code is the status it means, if known."""
    match body:
        case {"base_resp": {"status_code": int(code), "status_msg": str(text)}} if code != 0:
            return ErrorBody(text[:MAX_MESSAGE], str(BASE_RESP_STATUS.get(code, code)))
        case _:
            return None


def relayed_error(body: JSON) -> ErrorBody | None:
    """The vendor's error that a relay includes beside its own message. Never raises."""
    match body:
        case {"error": {"message": str(message), "metadata": {"raw": raw}} as error} if raw:
            return ErrorBody(f"{message}: {_text(raw)}"[:MAX_MESSAGE], _code(error))
        case {"message": str(message), "metadata": {"raw": raw}} if raw:
            return ErrorBody(f"{message}: {_text(raw)}"[:MAX_MESSAGE], _code(body))
        case _:
            return None


def _unwrap(message: str) -> ErrorLayer | None:
    for unwrap in (_embedded, _bracketed, _named, _exception):
        if (inner := unwrap(message)) is not None and inner.message != message:
            return inner
    return None


def _embedded(message: str) -> ErrorLayer | None:
    """JSON from the first brace to the last, whatever surrounds it."""
    start, end = message.find("{"), message.rfind("}")
    # The text after raw= is the model's output, not a vendor's error.
    if not 0 <= start < end or "raw='" in message[:start]:
        return None
    parsed = parse_json(message[start : end + 1], max_bytes=4 * MAX_MESSAGE)
    if parsed.error is not None:
        return None
    inner = _body_error(parsed.value)
    if inner is None:
        return None
    wrapping = _bracketed(message[:start] + "-")
    return ErrorLayer(inner.message, inner.code, wrapping.status if wrapping else None)


def _body_error(body: JSON) -> ErrorBody | None:
    if (nested := error_inside(body) or relayed_error(body)) is not None:
        return nested
    match body:
        case {"error": {"message": str(message)} as error}:
            return ErrorBody(message, _code(error))
        case {"error": str(message)} | {"message": str(message)} | {"detail": str(message)}:
            return ErrorBody(message, _code(body))
        case {"msg": str(message)}:
            return ErrorBody(message, _code(body))
        case _:
            return None


def _bracketed(message: str) -> ErrorLayer | None:
    """`[vendor/model] [400]: the vendor's text`."""
    head, colon, rest = message[:MAX_PREFIX].partition("]:")
    opened = head.rfind("[")
    if not colon or not message.startswith("[") or opened <= 0:
        return None
    status = head[opened + 1 :]
    if not (status.isascii() and status.isdigit() and len(status) == 3):
        return None
    return ErrorLayer((rest + message[MAX_PREFIX:]).strip(), "", int(status))


def _named(message: str) -> ErrorLayer | None:
    """`Error from provider (Vendor): the vendor's text`."""
    head, separator, rest = message.partition("): ")
    if not separator or len(head) > MAX_PREFIX or "error from provider (" not in head.lower():
        return None
    return ErrorLayer(rest.strip())


def _exception(message: str) -> ErrorLayer | None:
    """`litellm.BadRequestError: VendorException - the vendor's text`."""
    head, separator, rest = message.partition("Exception - ")
    if not separator or len(head) > MAX_PREFIX:
        return None
    return ErrorLayer(rest.strip())


def _text(raw: JSON) -> str:
    return raw if isinstance(raw, str) else json.dumps(raw)


def _code(error: JSON) -> str:
    code = error.get("code") if isinstance(error, Mapping) else None
    return str(code)[:100] if isinstance(code, str | int) else ""
