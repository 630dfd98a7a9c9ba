"""Errors of the API: problem+json of RFC 9457 for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist, RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError
from pydantic import BaseModel, ConfigDict, Field

from dashboard.api.problem_kinds import CODES, KINDS, PROBLEMS_PATH
from dashboard.core.errors import Refused

log = structlog.get_logger()

MAX_ERRORS = 20
CHALLENGE = 'Bearer realm="toolgauge"'
MEDIA_TYPE = "application/problem+json"
# Replaces Pydantic's messages that do not say what to do.
_MESSAGES = {
    "missing": "This field is required.",
    "extra_forbidden": "There is no such field; take it out.",
    "timezone_aware": "Give the time with its offset, such as 2026-05-01T12:00:00Z.",
}


class Detail(BaseModel):
    field: str = Field(description="Where in the request, with dots: events.3.at")
    message: str
    index: int | None = Field(default=None, description="Which item of a list, from 0")


class Problem(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": f"{PROBLEMS_PATH}not_found",
                    "title": KINDS["not_found"].title,
                    "status": 404,
                    "detail": "There is no such run.",
                    "code": "not_found",
                }
            ]
        }
    )

    type: str = Field(description="An address that tells what this kind of error means")
    title: str = Field(description="The kind of error, in words")
    status: int
    detail: str = Field(description="What went wrong this time, in a sentence for a person")
    code: str = Field(description=f"One of {', '.join(KINDS)}")
    errors: list[Detail] = Field(
        default_factory=list, description="Each field that needs mending, if any does"
    )


class ApiError(Exception):
    """An error response with its status."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        details: Sequence[Detail] = (),
        headers: Mapping[str, str] | None = None,
        code: str = "",
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code or CODES[status]
        self.message = message
        self.details = list(details)
        self.headers = dict(headers or {})


class AlreadyAnswered(Exception):
    """The request was answered before; carries the stored response."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__("answered before")
        self.response = response


def error_response(error: ApiError) -> HttpResponse:
    problem: dict[str, Any] = {
        "type": f"{PROBLEMS_PATH}{error.code}",
        "title": KINDS[error.code].title,
        "status": error.status,
        "detail": error.message,
        "code": error.code,
    }
    if error.details:
        problem["errors"] = [detail.model_dump(exclude_none=True) for detail in error.details]
    response = JsonResponse(problem, status=error.status, headers=error.headers)
    response.headers["Content-Type"] = MEDIA_TYPE
    return response


def not_found_error(thing: str) -> ApiError:
    return ApiError(404, f"There is no such {thing}.")


def too_large_error(limit: int) -> ApiError:
    return ApiError(413, f"The body is larger than {limit:,} bytes. Send less at once.")


def add_error_handlers(api: NinjaAPI) -> None:
    """Turn every exception of an operation into problem+json."""
    translations = {
        ApiError: lambda exc: exc,
        Refused: lambda exc: ApiError(409, exc.message),
        AuthenticationError: _unauthorized_error,
        HttpError: _malformed_error,
        ValidationError: _validation_error,
        Http404: lambda exc: not_found_error("thing"),
        ObjectDoesNotExist: lambda exc: not_found_error("thing"),
        RequestDataTooBig: _body_too_large_error,
        Exception: internal_error,
    }
    api.add_exception_handler(AlreadyAnswered, _stored_answer)
    for kind, translate in translations.items():
        api.add_exception_handler(kind, _make_handler(translate))


def _make_handler(translate: Any) -> Any:
    def handle(_request: HttpRequest, exc: Exception) -> HttpResponse:
        return error_response(translate(exc))

    return handle


def _stored_answer(_request: HttpRequest, exc: Any) -> HttpResponse:
    response: HttpResponse = exc.response
    return response


def _unauthorized_error(_exc: AuthenticationError) -> ApiError:
    message = "Send an API token in the header: Authorization: Bearer tg_…"
    return ApiError(401, message, headers={"WWW-Authenticate": CHALLENGE})


def _malformed_error(exc: HttpError) -> ApiError:
    # Only bodies that could not be parsed reach this handler; the cause says why.
    if isinstance(exc.__cause__, ApiError):
        return exc.__cause__
    return ApiError(400, "The body could not be read as JSON.")


def _body_too_large_error(_exc: RequestDataTooBig) -> ApiError:
    return too_large_error(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)


def _validation_error(exc: ValidationError) -> ApiError:
    details = [_error_detail(error) for error in exc.errors[:MAX_ERRORS]]
    return ApiError(422, _error_summary(details, len(exc.errors)), details=details)


def _error_summary(details: Sequence[Detail], count: int) -> str:
    first = f"{details[0].field or 'The body'}: {details[0].message}"
    return first if count == 1 else f"{count} fields need mending. {first}"


def _error_detail(error: Mapping[str, Any]) -> Detail:
    # `loc` begins with "body", "query" or "path"; for a body, its argument's name follows.
    _source, *place = error["loc"]
    if place[:1] == ["body"]:
        place = place[1:]
    place = [step for step in place if step != "[key]"]
    index = next((step for step in place if isinstance(step, int)), None)
    return Detail(field=".".join(map(str, place)), message=_error_message(error), index=index)


def _error_message(error: Mapping[str, Any]) -> str:
    text = str(error["msg"]).removeprefix("Value error, ")
    return _MESSAGES.get(error["type"], text if text.endswith(".") else f"{text}.")


def internal_error(exc: Exception) -> ApiError:
    log.error("api request failed", exc_info=exc)
    return ApiError(500, "This went wrong on our side. The server's log has it by X-Request-ID.")
