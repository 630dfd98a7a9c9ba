"""Progress of a run as Server-Sent Events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connection
from django.http import HttpRequest, StreamingHttpResponse
from ninja import Router

from dashboard.api import auth
from dashboard.api.errors import ApiError
from dashboard.runs import progress_stream
from dashboard.runs.api.runs import RunId, find_run

router = Router(tags=["runs"])

_STREAM_RESPONSES: dict[str, Any] = {
    "responses": {
        200: {
            "description": "A stream of events; it ends when the run has ended",
            "content": {
                "text/event-stream": {
                    "schema": {"type": "string"},
                    "example": "event: progress\n"
                    'data: {"state": "running", "done": 3, "planned": 35, '
                    '"passed": 3, "failed": 0, "void": 0}\n\n',
                }
            },
        },
        503: {
            "description": "Too many watch already; come back after Retry-After",
            "content": {
                "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
            },
        },
    }
}


@router.get(
    "/{int:run_id}/events",
    auth=auth.READ,
    summary="Follow the progress of a run",
    openapi_extra=_STREAM_RESPONSES,
)
async def follow_run(request: HttpRequest, run_id: RunId) -> StreamingHttpResponse:
    """One `progress` event now and one whenever the run has moved, at most two a second."""
    await sync_to_async(_check_run_exists)(run_id)
    broadcaster = progress_stream.broadcaster
    if broadcaster.is_full:
        message = (
            f"{broadcaster.max_watchers} watchers follow runs here already. Try again in a while."
        )
        raise ApiError(503, message, headers={"Retry-After": "5"})
    return StreamingHttpResponse(
        _stream_events(run_id),
        content_type="text/event-stream",
        # A proxy that buffers the response would deliver it only when the run has ended.
        headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"},
    )


def _check_run_exists(run_id: int) -> None:
    try:
        find_run(run_id)
    finally:
        # The request lasts as long as the run and must not hold a database connection.
        connection.close()


async def _stream_events(run_id: int) -> AsyncIterator[str]:
    async for snapshot in progress_stream.broadcaster.watch(run_id):
        if snapshot is None:
            yield ": still here\n\n"
        else:
            yield f"event: progress\ndata: {json.dumps(snapshot.as_json())}\n\n"
