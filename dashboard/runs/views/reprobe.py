"""Requests a run after showing its plan, and renders the progress of a run."""

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
def latest_progress(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    return _render_if_changed(request, progress.read_latest_progress(endpoint))


@needs(Right.READ)
@require_safe
def run_progress(request: HttpRequest, run_id: int) -> HttpResponse:
    run = get_object_or_404(Run, pk=run_id, endpoint__removed_at=None)
    return _render_if_changed(request, progress.read_run_progress(run))


@needs(Right.PROBE)
@require_http_methods(["GET", "HEAD", "POST"])
def reprobe_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the plan of a run, in a dialog or as a page; a POST requests the run."""
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    if request.method != "POST":
        in_dialog = bool(request.headers.get("HX-Request"))
        plan = probe_plan.read_plan(endpoint)
        context = {"endpoint": endpoint, "plan": plan, "in_dialog": in_dialog}
        return render(request, f"runs/{'_run_plan' if in_dialog else 'reprobe'}.html", context)
    refusal = ""
    try:
        _request_run(endpoint, by=cast(User, request.user), suite=request.POST.get("suite", ""))
    except Refused as exc:
        refusal = exc.message
    return _respond_to_action(request, endpoint, progress.read_latest_progress(endpoint), refusal)


def _request_run(endpoint: Endpoint, *, by: User, suite: str) -> None:
    """Queue a run within today's budget; an active run has its budget reserved already."""
    suite = suite if suite in SUITES else "light"
    plan = probe_plan.read_plan(endpoint)
    if plan.active is None and plan.for_suite(suite).refusal:
        raise Refused(plan.for_suite(suite).refusal)
    runs.request_run(endpoint, by=by, suite=suite)


@needs(Right.PROBE)
@require_POST
def cancel_run(request: HttpRequest, run_id: int) -> HttpResponse:
    run = get_object_or_404(
        Run.objects.select_related("endpoint"), pk=run_id, endpoint__removed_at=None
    )
    refusal = ""
    if not runs.cancel_run(run, by=request.user.get_username()):
        refusal = _("The run had ended already.")
    run.refresh_from_db()
    return _respond_to_action(request, run.endpoint, progress.read_run_progress(run), refusal)


def _render_if_changed(request: HttpRequest, current: Progress | None) -> HttpResponse:
    """204 if the run has not changed since the page last showed it."""
    if request.GET.get("seen", "") == (current.version if current else ""):
        return HttpResponse(status=204)
    return _render_progress(request, current)


def _respond_to_action(
    request: HttpRequest, endpoint: Endpoint, current: Progress | None, refusal: str
) -> HttpResponse:
    if request.headers.get("HX-Request"):
        return _render_progress(request, current, refusal)
    if refusal:
        messages.error(request, refusal)
    return redirect(endpoint)


def _render_progress(
    request: HttpRequest, current: Progress | None, refusal: str = ""
) -> HttpResponse:
    context = {"progress": current, "refusal": refusal}
    response = render(request, "runs/_progress.html", context)
    has_ended = current is not None and not current.run.is_active
    return trigger_client_event(response, "run-ended" if has_ended else "run-moved")
