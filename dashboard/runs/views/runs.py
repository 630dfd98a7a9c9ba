from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from dashboard.core import http
from dashboard.core.permissions import Right, needs
from dashboard.models import Run
from dashboard.runs import progress, results
from dashboard.runs.exchange import evidence_bundle


@needs(Right.READ)
@require_safe
def run_page(request: HttpRequest, run_id: int) -> HttpResponse:
    run = find_run(run_id)
    endpoint_runs = Run.objects.of(run.endpoint)
    context = {
        "run": run,
        "title": results.run_title(run),
        "progress": progress.read_run_progress(run),
        "results": _read_results(request, run),
        "before": endpoint_runs.filter(pk__lt=run.pk).order_by("-pk").first(),
        "after": endpoint_runs.filter(pk__gt=run.pk).order_by("pk").first(),
    }
    return render(request, "runs/run.html", context)


@needs(Right.READ)
@require_safe
def attempt_list(request: HttpRequest, run_id: int) -> HttpResponse:
    run = find_run(run_id)
    context = {"run": run, "results": _read_results(request, run)}
    return render(request, "runs/_attempts.html", context)


@needs(Right.READ)
@require_safe
def download_bundle(request: HttpRequest, run_id: int) -> StreamingHttpResponse:
    run = find_run(run_id)
    return StreamingHttpResponse(
        _iterate_async(evidence_bundle.stream_run_bundle(run)),
        headers=http.download_headers(f"{evidence_bundle.file_name(run)}.zip", "application/zip"),
    )


def find_run(run_id: int) -> Run:
    runs = Run.objects.select_related("endpoint", "endpoint__credential", "profile", "requested_by")
    return get_object_or_404(runs, pk=run_id, endpoint__removed_at=None)


def _read_results(request: HttpRequest, run: Run) -> results.RunResults:
    return results.read_results(run, request.GET.get("outcome", ""))


async def _iterate_async(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    # Under ASGI, Django collects all pieces of a sync iterator before it sends the first.
    def next_piece() -> bytes | None:
        return next(pieces, None)

    while (piece := await sync_to_async(next_piece)()) is not None:
        yield piece
