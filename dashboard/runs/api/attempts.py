"""API of a run's attempts and their evidence."""

from __future__ import annotations

from typing import Annotated, Any

from django.db.models import Q
from django.http import HttpRequest, JsonResponse
from ninja import Path, Query, Router

from dashboard.api import auth, paging
from dashboard.api.errors import ApiError, Detail, not_found_error
from dashboard.models import Attempt
from dashboard.runs import evidence
from dashboard.runs.api.runs import RunId, find_run
from dashboard.runs.schemas import AttemptList, attempt_out

router = Router(tags=["attempts"])

_MAX_TRIAL = 2**31 - 1
_EVIDENCE_RESPONSE: dict[str, Any] = {
    "responses": {
        200: {
            "description": "The exchanges, redacted before they were stored",
            "content": {
                "application/json": {
                    "schema": {"type": "object"},
                    "example": {"exchanges": [{"label": "", "request": {}, "reply": {}}]},
                }
            },
        }
    }
}


@router.get(
    "/{int:run_id}/attempts",
    auth=auth.READ,
    response=AttemptList,
    summary="List the attempts of a run",
)
def list_attempts(
    request: HttpRequest,
    run_id: RunId,
    cursor: Annotated[str, Query(description="The `next_cursor` of the page before")] = "",
    limit: Annotated[int, Query(ge=1, le=1000, description="The most on a page")] = 500,
) -> AttemptList:
    attempts = Attempt.objects.of(find_run(run_id)).order_by("probe", "trial")
    if cursor:
        trial, probe = _parse_cursor(cursor)
        attempts = attempts.filter(Q(probe__gt=probe) | Q(probe=probe, trial__gt=trial))
    page, next_cursor = paging.cut_page(attempts, limit, lambda row: f"{row.trial}.{row.probe}")
    return AttemptList(attempts=[attempt_out(row) for row in page], next_cursor=next_cursor)


def _parse_cursor(cursor: str) -> tuple[int, str]:
    number, _, probe = cursor.partition(".")
    if number.isascii() and number.isdecimal() and int(number) <= _MAX_TRIAL and "\0" not in probe:
        return int(number), probe
    message = "Give a `next_cursor` of this list."
    detail = Detail(field="cursor", message=message)
    raise ApiError(422, f"cursor: {message}", details=[detail])


@router.get(
    "/{int:run_id}/attempts/{probe}/{int:trial}/evidence",
    auth=auth.READ,
    summary="Read the evidence behind an attempt",
    openapi_extra=_EVIDENCE_RESPONSE,
)
def read_evidence(
    request: HttpRequest,
    run_id: RunId,
    probe: Annotated[str, Path(pattern="^[^\0]*$")],
    trial: Annotated[int, Path(ge=0, le=_MAX_TRIAL)],
) -> JsonResponse:
    """What was sent and what came back, as it was stored. It is kept for some time only."""
    attempt = Attempt.objects.of(find_run(run_id)).filter(probe=probe, trial=trial).first()
    if attempt is None:
        raise not_found_error("attempt")
    stored = evidence.read_evidence(attempt)
    if stored is None:
        raise ApiError(404, "The evidence of this attempt is no longer kept.")
    # In ASCII: a model may send characters that cannot be encoded, such as lone surrogates.
    return JsonResponse(stored)
