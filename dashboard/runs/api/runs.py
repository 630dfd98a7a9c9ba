"""API of runs: list, request, read, cancel."""

from __future__ import annotations

from typing import Annotated

from django.http import HttpRequest
from ninja import Path, Query, Router
from ninja.responses import Status

from dashboard.api import auth, paging
from dashboard.api.errors import ApiError, not_found_error
from dashboard.api.lookups import Slug, find_endpoint
from dashboard.api.paging import MAX_ID, Below, Limit
from dashboard.models import Run
from dashboard.models.run import RunQuerySet, State, Trigger
from dashboard.runs import services
from dashboard.runs.schemas import RunIn, RunList, RunOut, run_out

RunId = Annotated[int, Path(ge=1, le=MAX_ID, description="The run's id")]

of_endpoint = Router(tags=["runs"])
router = Router(tags=["runs"])


@of_endpoint.get(
    "/{slug:slug}/runs",
    auth=auth.READ,
    response=RunList,
    summary="List the runs of an endpoint, newest first",
)
def list_runs(
    request: HttpRequest,
    slug: Slug,
    state: Annotated[State | None, Query(description="Only runs in this state")] = None,
    cursor: Below = MAX_ID,
    limit: Limit = 50,
) -> RunList:
    runs = _runs().of(find_endpoint(slug)).filter(pk__lt=cursor).newest_first()
    if state:
        runs = runs.filter(state=state)
    page, next_cursor = paging.cut_page(runs, limit, lambda run: run.pk)
    return RunList(runs=[run_out(run) for run in page], next_cursor=next_cursor)


@of_endpoint.post(
    "/{slug:slug}/runs",
    auth=auth.PROBE,
    response={202: RunOut, 200: RunOut},
    summary="Ask for a run",
)
def request_run(request: HttpRequest, slug: Slug, body: RunIn) -> Status[RunOut]:
    """Answers 202 with the new run, or 200 with the one that is under way already."""
    endpoint = find_endpoint(slug)
    active_ids = set(endpoint.runs.active().values_list("pk", flat=True))
    by = auth.request_token(request).created_by
    run = services.request_run(endpoint, by=by, suite=body.suite.value, trigger=Trigger.API)
    return Status(200 if run.pk in active_ids else 202, run_out(find_run(run.pk)))


@router.get("/{int:run_id}", auth=auth.READ, response=RunOut, summary="Read one run")
def read_run(request: HttpRequest, run_id: RunId) -> RunOut:
    return run_out(find_run(run_id))


@router.post("/{int:run_id}/cancel", auth=auth.PROBE, response=RunOut, summary="Cancel a run")
def cancel_run(request: HttpRequest, run_id: RunId) -> RunOut:
    """What it has found so far stays; it gives no verdict. Refused once the run has ended."""
    run = find_run(run_id)
    if not services.cancel_run(run, by=f"the API token {auth.request_token(request).name}"):
        raise ApiError(409, "The run had ended already.")
    return run_out(find_run(run_id))


def find_run(run_id: int) -> Run:
    """The run; not found if its endpoint was removed."""
    run = _runs().filter(pk=run_id, endpoint__removed_at=None).first()
    if run is None:
        raise not_found_error("run")
    return run


def _runs() -> RunQuerySet:
    return Run.objects.select_related("endpoint", "requested_by")
