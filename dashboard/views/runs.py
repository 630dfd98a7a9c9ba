from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from dashboard import exchange, progress
from dashboard.models import Attempt, Run
from dashboard.services import evidence


@require_safe
def page(request: HttpRequest, run_id: int) -> HttpResponse:
    run = _run(run_id)
    context = {"run": run, "progress": progress.of_run(run), "attempts": _attempts(run)}
    return render(request, "dashboard/run.html", context)


@require_safe
def attempts(request: HttpRequest, run_id: int) -> HttpResponse:
    run = _run(run_id)
    return render(request, "dashboard/_attempts.html", {"run": run, "attempts": _attempts(run)})


@require_safe
def attempt(request: HttpRequest, run_id: int, probe: str, trial: int) -> HttpResponse:
    run = _run(run_id)
    found = get_object_or_404(Attempt.objects.of(run), probe=probe, trial=trial)
    stored = evidence.read(found)
    context = {"attempt": found, "exchanges": exchange.shown(stored) if stored else []}
    return render(request, "dashboard/_evidence.html", context)


def _run(run_id: int) -> Run:
    runs = Run.objects.select_related("endpoint", "requested_by")
    return get_object_or_404(runs, pk=run_id, endpoint__removed_at=None)


# What went wrong is what a reader came for.
_ORDER = ("fail", "void", "pass")


def _attempts(run: Run) -> list[Attempt]:
    found = Attempt.objects.of(run).order_by("probe", "trial")
    return sorted(found, key=lambda attempt: _ORDER.index(attempt.outcome))
