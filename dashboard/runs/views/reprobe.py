"""Asking for a run, with its plan before, and the part that shows how far it has come."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import trigger_client_event

from dashboard.core.errors import Refused
from dashboard.core.permissions import Right, needs
from dashboard.models import Endpoint, Run
from dashboard.runs import plan as probe_plan
from dashboard.runs import progress
from dashboard.runs import services as runs
from dashboard.runs.progress import Progress
from probes.suite import SUITES


@needs(Right.READ)
@require_safe
def latest(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    return _moved(request, progress.of_latest(endpoint))


@needs(Right.READ)
@require_safe
def progress_of(request: HttpRequest, run_id: int) -> HttpResponse:
    run = get_object_or_404(Run, pk=run_id, endpoint__removed_at=None)
    return _moved(request, progress.of_run(run))


@needs(Right.PROBE)
@require_http_methods(["GET", "HEAD", "POST"])
def probe(request: HttpRequest, slug: str) -> HttpResponse:
    """The plan of a run, in a dialog or as a page; a post asks for the run."""
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    if request.method != "POST":
        in_dialog = bool(request.headers.get("HX-Request"))
        plan = probe_plan.read(endpoint)
        context = {"endpoint": endpoint, "plan": plan, "in_dialog": in_dialog}
        return render(request, f"runs/{'_run_plan' if in_dialog else 'reprobe'}.html", context)
    refusal = ""
    try:
        _ask(endpoint, by=cast(User, request.user), suite=request.POST.get("suite", ""))
    except Refused as exc:
        refusal = exc.message
    return _acted(request, endpoint, progress.of_latest(endpoint), refusal)


def _ask(endpoint: Endpoint, *, by: User, suite: str) -> None:
    """Queue a run that today's budget allows; one that is under way was paid for already."""
    suite = suite if suite in SUITES else "light"
    plan = probe_plan.read(endpoint)
    if plan.active is None and plan.of(suite).refusal:
        raise Refused(plan.of(suite).refusal)
    runs.request(endpoint, by=by, suite=suite)


@needs(Right.PROBE)
@require_POST
def cancel(request: HttpRequest, run_id: int) -> HttpResponse:
    run = get_object_or_404(
        Run.objects.select_related("endpoint"), pk=run_id, endpoint__removed_at=None
    )
    refusal = ""
    if not runs.cancel(run, by=request.user.get_username()):
        refusal = _("The run had ended already.")
    run.refresh_from_db()
    return _acted(request, run.endpoint, progress.of_run(run), refusal)


def _moved(request: HttpRequest, found: Progress | None) -> HttpResponse:
    """The part when the run has moved since it was last shown, else nothing."""
    if request.GET.get("seen", "") == (found.seen if found else ""):
        return HttpResponse(status=204)
    return _part(request, found)


def _acted(
    request: HttpRequest, endpoint: Endpoint, found: Progress | None, refusal: str
) -> HttpResponse:
    if request.headers.get("HX-Request"):
        return _part(request, found, refusal)
    if refusal:
        messages.error(request, refusal)
    return redirect(endpoint)


def _part(request: HttpRequest, found: Progress | None, refusal: str = "") -> HttpResponse:
    context = {"progress": found, "refusal": refusal}
    response = render(request, "runs/_progress.html", context)
    ended = found is not None and not found.run.is_active
    return trigger_client_event(response, "run-ended" if ended else "run-moved")
