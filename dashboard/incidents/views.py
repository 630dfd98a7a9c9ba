"""Pages of incidents: the list, the timeline of one, and decisions about it."""

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
from dashboard.incidents.queries import IncidentFilter, IncidentFilterForm, IncidentHeading
from dashboard.incidents.watch_table import read_watch_table
from dashboard.models import Endpoint, Incident, Watch
from dashboard.trust import detection
from dashboard.trust import text as figure_text
from health.metric_names import metric_name
from health.modes import WATCHED
from health.severity import Severity
from probes.outcomes import Metric


@needs(Right.READ)
@require_safe
def incidents_page(request: HttpRequest) -> HttpResponse:
    incident_filter = IncidentFilter(**IncidentFilterForm(request.GET).read())
    teams = actor_of(request).teams(Right.READ)
    pages = Paginator(incidents.find_incidents(incident_filter, teams), incidents.PAGE_SIZE)
    endpoints = Endpoint.objects.kept().of_teams(teams)
    page = pages.get_page(request.GET.get("page"))
    context = {
        "incident_filter": incident_filter,
        "page": page,
        "rows": [IncidentHeading(incident) for incident in page],
        "states": [("", _("all")), *incidents.STATE_LABELS.items()],
        "severities": list(Severity),
        "metrics": [(metric.value, metric_name(metric)) for metric in WATCHED],
        "slugs": endpoints.order_by("slug").values_list("slug", flat=True)[:500],
    }
    return render(request, "incidents/incidents.html", context)


@needs(Right.READ)
@require_safe
def incident_page(request: HttpRequest, incident_id: int) -> HttpResponse:
    incident = _find_incident(incident_id)
    metric = Metric(incident.metric)
    context = {
        "incident": incident,
        "heading": IncidentHeading(incident),
        "figures": figure_text.figure_sentences(metric, incident.figures),
        "timeline": timeline.read_timeline(incident),
        "evidence": failed_attempts.read_evidence(incident),
        "modes": incident.switches.on().order_by("mode"),
        "note_form": NoteForm(),
        "reason_form": ReasonForm(auto_id="release_%s"),
    }
    return render(request, "incidents/incident.html", context)


@needs(Right.OPERATE)
@require_POST
def acknowledge_incident(request: HttpRequest, incident_id: int) -> HttpResponse:
    incident, form = _find_incident(incident_id), NoteForm(request.POST)
    note = form.cleaned_data["note"] if form.is_valid() else ""
    if detection.acknowledge_incident(incident, by=cast(User, request.user), note=note):
        messages.success(request, _("Noted that you have seen it."))
    else:
        messages.info(request, _already_acknowledged_message(_find_incident(incident_id)))
    return redirect("incident", incident.pk)


@needs(Right.DECIDE)
@require_POST
def release_incident(request: HttpRequest, incident_id: int) -> HttpResponse:
    incident = _find_incident(incident_id)
    try:
        by, note = cast(User, request.user), request.POST.get("reason", "")
        detection.release_incident(incident, by=by, note=note, is_offered=True)
    except Refused as exc:
        messages.error(request, exc.message)
    else:
        message = _("It may be left now; the next runs decide. One is due at once.")
        messages.success(request, message)
    return redirect("incident", incident.pk)


@needs(Right.DECIDE)
@require_http_methods(["GET", "HEAD", "POST"])
def accept_baseline(request: HttpRequest, slug: str, metric: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    profile, watched = endpoint.profile, _watched_metric(metric)
    form = ReasonForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            by, note = cast(User, request.user), form.cleaned_data["reason"]
            detection.accept_baseline(profile, watched, by=by, note=note)
        except Refused as exc:
            form.add_error(None, exc.message)
        else:
            messages.success(request, _("What the endpoint does now is its new normal."))
            return redirect(endpoint)
    rows = read_watch_table(endpoint, Watch.objects.state_of(profile)).rows
    context = {
        "endpoint": endpoint,
        "watched_metric": next(row for row in rows if row.metric is watched),
        "new_baseline": incidents.read_new_baseline(profile, watched),
        "form": form,
    }
    return render(request, "incidents/accept_baseline.html", context)


def _find_incident(incident_id: int) -> Incident:
    kept = Incident.objects.filter(profile__endpoint__removed_at=None)
    related = kept.select_related("profile__endpoint", "acknowledged_by")
    return get_object_or_404(related, pk=incident_id)


def _already_acknowledged_message(incident: Incident) -> str:
    """The message for an incident that was acknowledged before, with who did it."""
    if incident.acknowledged_by is None:
        return _("Somebody had acknowledged it before.")
    message = _("{name} had acknowledged it before; your note was not kept.")
    return message.format(name=incident.acknowledged_by.get_username())


def _watched_metric(name: str) -> Metric:
    if name not in {metric.value for metric in WATCHED}:
        raise Http404(f"{name!r} is not watched")
    return Metric(name)
