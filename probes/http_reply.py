from __future__ import annotations

import math

from probes.adapters.base import Adapter, ErrorBody
from probes.classify import ErrorClass, classify_error, meant_status
from probes.errors import (
    AuthRejected,
    NotFound,
    NotJSON,
    Overloaded,
    ProviderError,
    RateLimited,
    Redirected,
    Refused,
)
from probes.findings import FindingKind
from probes.http_messages import WireResponse
from probes.messages import JSON, Reply
from probes.relayed_errors import error_inside, relayed_error
from probes.strict_json import ParsedJson, parse_json

MAX_RETRY_AFTER_S = 24 * 3600
MAX_PLAIN_ERROR = 300
_REJECTIONS = {401: "rejected the API key", 403: "forbids access"}


def read_http_reply(adapter: Adapter, incoming: WireResponse) -> Reply:
    """Read the reply from a response, or raise the ProbesError that it means."""
    status = incoming.status
    if 300 <= status < 400:
        location = incoming.headers.get("location", "nowhere")
        message = f"The endpoint redirects us ({status}), which is not followed, to {location}"
        raise Redirected(status, message, received=incoming)
    if status >= 400:
        raise _as_provider_error(incoming, _error_body(adapter, incoming))
    parsed = _parse(incoming)
    if parsed.error is not None:
        raise NotJSON(status, _not_json_message(incoming, parsed.error), received=incoming)
    error = _read_error(adapter, parsed.value)
    if error is not None:
        raise _as_provider_error(incoming, error)
    return adapter.read_reply(parsed.value)


def retry_after(incoming: WireResponse) -> float | None:
    """The seconds to wait that the response asks for, if any."""
    try:
        seconds = float(incoming.headers.get("retry-after", ""))
    except ValueError:
        return None
    return min(max(seconds, 0), MAX_RETRY_AFTER_S) if math.isfinite(seconds) else None


def _as_provider_error(incoming: WireResponse, error: ErrorBody) -> ProviderError:
    status = incoming.status
    detail = f"({status}): {error.message}" if error.message else f"({status})."
    request_id = incoming.headers.get("x-request-id") or incoming.headers.get("request-id")
    meant = meant_status(status, error.code)
    if meant in _REJECTIONS:
        message = f"The endpoint {_REJECTIONS[meant]} {detail}"
        return AuthRejected(status, message, request_id=request_id, received=incoming)
    if meant == 429:
        message = f"The endpoint asks us to slow down {detail}"
        wait = retry_after(incoming)
        return RateLimited(
            status, message, retry_after=wait, request_id=request_id, received=incoming
        )
    meaning = classify_error(status, error)
    if meaning is not None and meaning.kind is ErrorClass.TRANSIENT:
        message = f"The endpoint failed on its own side {detail}"
        return Overloaded(status, message, request_id=request_id, received=incoming)
    is_unknown = meaning is None and status == 404
    if is_unknown or (meaning is not None and meaning.kind is ErrorClass.NOT_FOUND):
        message = f"The endpoint has no such path or model {detail}"
        return NotFound(status, message, request_id=request_id, received=incoming)
    kind = FindingKind(meaning.kind) if meaning else FindingKind.PROVIDER_ERROR
    message = f"The endpoint refused the request {detail}"
    return Refused(status, message, kind, request_id=request_id, received=incoming)


def _parse(incoming: WireResponse) -> ParsedJson:
    body = incoming.body
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return ParsedJson(error="The bytes are not UTF-8.")
    return parse_json(text, max_bytes=len(body))


def _not_json_message(incoming: WireResponse, error: str) -> str:
    body = incoming.body.lstrip()
    if not body:
        return "The endpoint answered with an empty body."
    if "html" in incoming.headers.get("content-type", "") or body.startswith((b"<!", b"<html")):
        return "The endpoint answered with a web page (HTML) instead of JSON."
    return f"The endpoint did not answer in JSON. {error}"


def _error_body(adapter: Adapter, incoming: WireResponse) -> ErrorBody:
    parsed = _parse(incoming)
    if parsed.error is None:
        return _read_error(adapter, parsed.value) or ErrorBody("")
    if "text/plain" in incoming.headers.get("content-type", ""):
        return ErrorBody(incoming.body[:MAX_PLAIN_ERROR].decode("utf-8", "replace"))
    return ErrorBody("")


def _read_error(adapter: Adapter, body: JSON) -> ErrorBody | None:
    if (inside := error_inside(body)) is not None:
        return inside
    error = adapter.read_error(body)
    # A relay's own message says less than the vendor's error that it includes.
    return None if error is None else relayed_error(body) or error
