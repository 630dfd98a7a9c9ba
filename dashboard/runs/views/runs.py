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
def page(request: HttpRequest, run_id: int) -> HttpResponse:
    run = find(run_id)
    beside = Run.objects.of(run.endpoint)
    context = {
        "run": run,
        "title": results.title(run),
        "progress": progress.of_run(run),
        "results": _results(request, run),
        "before": beside.filter(pk__lt=run.pk).order_by("-pk").first(),
        "after": beside.filter(pk__gt=run.pk).order_by("pk").first(),
    }
    return render(request, "runs/run.html", context)


@needs(Right.READ)
@require_safe
def attempts(request: HttpRequest, run_id: int) -> HttpResponse:
    run = find(run_id)
    context = {"run": run, "results": _results(request, run)}
    return render(request, "runs/_attempts.html", context)


@needs(Right.READ)
@require_safe
def download(request: HttpRequest, run_id: int) -> StreamingHttpResponse:
    run = find(run_id)
    return StreamingHttpResponse(
        _async(evidence_bundle.of_run(run)),
        headers=http.download_headers(f"{evidence_bundle.file_name(run)}.zip", "application/zip"),
    )


def find(run_id: int) -> Run:
    runs = Run.objects.select_related("endpoint", "endpoint__credential", "profile", "requested_by")
    return get_object_or_404(runs, pk=run_id, endpoint__removed_at=None)


def _results(request: HttpRequest, run: Run) -> results.Results:
    return results.of(run, request.GET.get("outcome", ""))


async def _async(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    # A server of this kind would collect all pieces of a plain iterator before it sends the first.
    def following() -> bytes | None:
        return next(pieces, None)

    while (piece := await sync_to_async(following)()) is not None:
        yield piece
