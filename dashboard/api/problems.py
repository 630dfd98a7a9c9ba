"""Everything that can go wrong with a request, by its code: what it means and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from django.http import HttpRequest
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field

ADDRESS = "/api/v1/problems/"

router = Router(tags=["problems"])


@dataclass(frozen=True, slots=True)
class Kind:
    status: int
    title: str
    advice: str


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "malformed": Kind(
            400,
            "The request could not be read",
            "The body is no JSON, or a header is not as it must be; `detail` says where.",
        ),
        "unauthorized": Kind(
            401,
            "A token is needed",
            "No token was sent, or one that is unknown, revoked, expired, or whose maker may not "
            "sign in any more. Make one under /settings/tokens/.",
        ),
        "forbidden": Kind(
            403,
            "This may not be done",
            "The token has not the scope, or whoever made it has not the right; `detail` names it.",
        ),
        "not_found": Kind(
            404,
            "There is no such thing",
            "Nothing has this address, or it belongs to a team whose endpoints you may not see.",
        ),
        "method_not_allowed": Kind(
            405,
            "This method is not possible here",
            "The header Allow names those that are.",
        ),
        "conflict": Kind(
            409,
            "It cannot be done as things are",
            "Somebody else was faster, it is too late, or a rule speaks against it; read the thing "
            "again and decide anew.",
        ),
        "in_progress": Kind(
            409,
            "The same request is under way",
            "Another request with this Idempotency-Key has not ended. Send it again a little later "
            "to get its answer.",
        ),
        "too_large": Kind(
            413, "The body is too large", "Send less at once; `detail` names the limit."
        ),
        "invalid": Kind(
            422,
            "Something in the request needs mending",
            "`errors` names each field and what to do.",
        ),
        "key_reused": Kind(
            422,
            "The Idempotency-Key belongs to another request",
            "It was sent before with another method, address or body. Draw a new key for each "
            "request, and use it again only to repeat that very request.",
        ),
        "rate_limited": Kind(
            429,
            "Too many requests",
            "Wait as many seconds as Retry-After says. The header RateLimit tells what is left.",
        ),
        "internal": Kind(
            500,
            "This went wrong on our side",
            "The server's log has it by the X-Request-ID of the answer.",
        ),
        "unavailable": Kind(503, "Not now", "Come back after as many seconds as Retry-After says."),
    }
)
# What a status means unless something narrower is said.
CODES = {
    400: "malformed",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    413: "too_large",
    422: "invalid",
    429: "rate_limited",
    500: "internal",
    503: "unavailable",
}

_EXAMPLE: dict[str, Any] = {
    "type": f"{ADDRESS}not_found",
    "code": "not_found",
    "status": 404,
    "title": KINDS["not_found"].title,
    "advice": KINDS["not_found"].advice,
}


class ProblemKind(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    type: str = Field(description="What `type` of an error is")
    code: str
    status: int
    title: str
    advice: str = Field(description="What to do about it")


class ProblemKinds(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"problems": [_EXAMPLE]}]})

    problems: list[ProblemKind]


@router.get("", response=ProblemKinds, auth=None, summary="List all that can go wrong")
def list_problems(request: HttpRequest) -> ProblemKinds:
    return ProblemKinds(problems=[_problem_out(code) for code in KINDS])


@router.get(
    "/{slug:code}", response=ProblemKind, auth=None, summary="Read what a kind of error means"
)
def read_problem(request: HttpRequest, code: str) -> ProblemKind:
    """The `type` of every error is this address."""
    from dashboard.api.errors import not_found_error

    if code not in KINDS:
        raise not_found_error("kind of error")
    return _problem_out(code)


def _problem_out(code: str) -> ProblemKind:
    kind = KINDS[code]
    return ProblemKind(
        type=f"{ADDRESS}{code}", code=code, status=kind.status, title=kind.title, advice=kind.advice
    )
