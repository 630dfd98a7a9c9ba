"""The API that describes the kinds of errors."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field

from dashboard.api.errors import not_found_error
from dashboard.api.problem_kinds import KINDS, PROBLEMS_PATH

router = Router(tags=["problems"])


_EXAMPLE: dict[str, Any] = {
    "type": f"{PROBLEMS_PATH}not_found",
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
    if code not in KINDS:
        raise not_found_error("kind of error")
    return _problem_out(code)


def _problem_out(code: str) -> ProblemKind:
    kind = KINDS[code]
    return ProblemKind(
        type=f"{PROBLEMS_PATH}{code}",
        code=code,
        status=kind.status,
        title=kind.title,
        advice=kind.advice,
    )
