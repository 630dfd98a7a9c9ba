"""The settings pages of teams, for administrators."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.core.errors import Refused
from dashboard.core.permissions import Right, needs
from dashboard.models import Endpoint, Grant, Team
from dashboard.people.forms import OptionalReasonForm, form_reason
from dashboard.people.services import teams


class TeamForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=teams.MAX_NAME_LENGTH,
        widget=forms.TextInput({"autocomplete": "off"}),
    )


@needs(Right.ADMINISTER)
@require_http_methods(["GET", "HEAD", "POST"])
def teams_page(request: HttpRequest) -> HttpResponse:
    form = TeamForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            team = teams.create_team(name=form.cleaned_data["name"], by=_current_person(request))
        except Refused as exc:
            form.add_error("name", exc.message)
        else:
            text = _("{name} is made. Move endpoints in and give people roles there.")
            messages.success(request, text.format(name=team.name))
            return redirect("team", team.pk)
    without_team = Endpoint.objects.kept().filter(team=None).count()
    context = {"form": form, "teams": _teams_with_counts(), "without_team": without_team}
    return render(request, "people/teams.html", context)


@needs(Right.ADMINISTER)
@require_http_methods(["GET", "HEAD", "POST"])
def team_page(request: HttpRequest, team_id: int) -> HttpResponse:
    team = get_object_or_404(Team, pk=team_id)
    form = TeamForm(request.POST or None, initial={"name": team.name})
    if request.method == "POST" and form.is_valid():
        try:
            renamed = teams.rename_team(
                team, name=form.cleaned_data["name"], by=_current_person(request)
            )
        except Refused as exc:
            form.add_error("name", exc.message)
        else:
            messages.success(request, _("The team is called {name} now.").format(name=renamed.name))
            return redirect("team", team.pk)
    return render(request, "people/team.html", {"team": team, "form": form, **_team_context(team)})


@needs(Right.ADMINISTER)
@require_POST
def move_endpoints(request: HttpRequest, team_id: int) -> HttpResponse:
    team = get_object_or_404(Team, pk=team_id)
    slugs = [slug for slug in request.POST.getlist("endpoint") if "\0" not in slug]
    endpoints = Endpoint.objects.kept().filter(slug__in=slugs)
    target = None if request.POST.get("to") == "nobody" else team
    try:
        moved = teams.move_endpoints(list(endpoints), team=target, by=_current_person(request))
    except Refused as exc:
        messages.error(request, exc.message)
        return redirect("teams")
    if moved:
        text = ngettext("{count} endpoint was moved.", "{count} endpoints were moved.", moved)
        messages.success(request, text.format(count=moved))
    else:
        messages.warning(request, _("Nothing was moved: choose an endpoint first."))
    return redirect("team", team.pk)


@needs(Right.ADMINISTER)
@require_http_methods(["GET", "HEAD", "POST"])
def remove_team(request: HttpRequest, team_id: int) -> HttpResponse:
    team = get_object_or_404(Team, pk=team_id)
    if request.method == "POST":
        try:
            teams.remove_team(
                team,
                by=_current_person(request),
                reason=form_reason(OptionalReasonForm(request.POST)),
            )
        except Refused as exc:
            messages.error(request, exc.message)
            return redirect("team", team_id)
        messages.success(request, _("The team {name} is removed.").format(name=team.name))
        return redirect("teams")
    context = {"team": team, "form": OptionalReasonForm(), **_team_context(team)}
    return render(request, "people/team_remove.html", context)


def _teams_with_counts() -> QuerySet[Team]:
    is_kept = Q(endpoints__removed_at=None)
    return Team.objects.order_by("name").annotate(
        endpoint_count=Count("endpoints", filter=is_kept, distinct=True),
        people_count=Count("grants__person", distinct=True),
    )


def _team_context(team: Team) -> dict[str, Any]:
    """The endpoints and people of a team, and the endpoints that could move in."""
    endpoints = Endpoint.objects.kept().select_related("team").order_by("slug")
    people = User.objects.filter(grants__team=team).distinct().order_by("username")
    grants = Grant.objects.filter(team=team).order_by("role")
    by_person: dict[int, list[Grant]] = {}
    for grant in grants:
        by_person.setdefault(grant.person_id, []).append(grant)
    return {
        "endpoints": endpoints.filter(team=team),
        "elsewhere": endpoints.exclude(team=team),
        "people": [(person, by_person[person.pk]) for person in people],
    }


def _current_person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
