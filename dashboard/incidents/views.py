"""Incidents: the list, the story of one, and what people decide about it."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.core.errors import Refused
from dashboard.core.permissions import Right, actor_of, needs
from dashboard.core.reasons import NoteForm, ReasonForm
from dashboard.incidents import failed_attempts, timeline
from dashboard.incidents import queries as incidents
from dashboard.incidents.queries import IncidentFilter, IncidentFilterForm, Titled
from dashboard.incidents.watch_table import read as watch_table
from dashboard.models import Endpoint, Incident, Watch
from dashboard.trust import detection
from dashboard.trust import text as figure_words
from health.metric_names import metric_name
from health.modes import WATCHED
from health.severity import Severity
from probes.outcomes import Metric


@needs(Right.READ)
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    asked = IncidentFilter(**IncidentFilterForm(request.GET).read())
    teams = actor_of(request).teams(Right.READ)
    pages = Paginator(incidents.found(asked, teams), incidents.PAGE)
    endpoints = Endpoint.objects.kept().of_teams(teams)
    shown = pages.get_page(request.GET.get("page"))
    context = {
        "asked": asked,
        "page": shown,
        "rows": [Titled(incident) for incident in shown],
        "states": [("", _("all")), *incidents.STATE_WORDS.items()],
        "severities": list(Severity),
        "metrics": [(metric.value, metric_name(metric)) for metric in WATCHED],
        "slugs": endpoints.order_by("slug").values_list("slug", flat=True)[:500],
    }
    return render(request, "incidents/incidents.html", context)


@needs(Right.READ)
@require_safe
def detail(request: HttpRequest, incident_id: int) -> HttpResponse:
    incident = _incident(incident_id)
    metric = Metric(incident.metric)
    context = {
        "incident": incident,
        "titled": Titled(incident),
        "figures": figure_words.figure_sentences(metric, incident.figures),
        "moments": timeline.of(incident),
        "evidence": failed_attempts.read(incident),
        "modes": incident.switches.on().order_by("mode"),
        "note_form": NoteForm(),
        "reason_form": ReasonForm(auto_id="release_%s"),
    }
    return render(request, "incidents/incident.html", context)


@needs(Right.OPERATE)
@require_POST
def acknowledge(request: HttpRequest, incident_id: int) -> HttpResponse:
    incident, form = _incident(incident_id), NoteForm(request.POST)
    note = form.cleaned_data["note"] if form.is_valid() else ""
    if detection.acknowledge_incident(incident, by=cast(User, request.user), note=note):
        messages.success(request, _("Noted that you have seen it."))
    else:
        messages.info(request, _acknowledged(_incident(incident_id)))
    return redirect("incident", incident.pk)


@needs(Right.DECIDE)
@require_POST
def release(request: HttpRequest, incident_id: int) -> HttpResponse:
    incident = _incident(incident_id)
    try:
        note = request.POST.get("reason", "")
        detection.release_incident(incident, by=cast(User, request.user), note=note)
    except Refused as exc:
        messages.error(request, exc.message)
    else:
        said = _("It may be left now; the next runs decide. One is due at once.")
        messages.success(request, said)
    return redirect("incident", incident.pk)


@needs(Right.DECIDE)
@require_http_methods(["GET", "HEAD", "POST"])
def accept(request: HttpRequest, slug: str, metric: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    profile, chosen = endpoint.profile, _metric(metric)
    form = ReasonForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            by, note = cast(User, request.user), form.cleaned_data["reason"]
            detection.accept_baseline(profile, chosen, by=by, note=note)
        except Refused as exc:
            form.add_error(None, exc.message)
        else:
            messages.success(request, _("What the endpoint does now is its new normal."))
            return redirect(endpoint)
    rows = watch_table(endpoint, Watch.objects.state_of(profile)).rows
    context = {
        "endpoint": endpoint,
        "watched": next(row for row in rows if row.metric is chosen),
        "normal": incidents.new_normal(profile, chosen),
        "form": form,
    }
    return render(request, "incidents/accept_baseline.html", context)


def _incident(incident_id: int) -> Incident:
    kept = Incident.objects.filter(profile__endpoint__removed_at=None)
    related = kept.select_related("profile__endpoint", "acknowledged_by")
    return get_object_or_404(related, pk=incident_id)


def _acknowledged(incident: Incident) -> str:
    """Who was first."""
    if incident.acknowledged_by is None:
        return _("Somebody had acknowledged it before.")
    said = _("{name} had acknowledged it before; your note was not kept.")
    return said.format(name=incident.acknowledged_by.get_username())


def _metric(name: str) -> Metric:
    if name not in {metric.value for metric in WATCHED}:
        raise Http404(f"{name!r} is not watched")
    return Metric(name)
