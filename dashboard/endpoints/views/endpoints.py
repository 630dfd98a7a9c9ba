from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from dashboard.accounts.reauthentication import require_reauthentication_when
from dashboard.charts.views import charts
from dashboard.core import http
from dashboard.core.errors import Refused
from dashboard.core.permissions import Right, actor_of, needs
from dashboard.endpoints import endpoint_page, presets
from dashboard.endpoints.forms import EndpointForm, beginning_of
from dashboard.endpoints.services import endpoints
from dashboard.models import Credential, Endpoint, Spend
from dashboard.policy.views import modes
from dashboard.runs import progress
from dashboard.runs import table as runs_table
from dashboard.runs.table import RunFilter, RunFilterForm
from dashboard.trust.policy_renewal import current_policy

# What a person uses to turn the table of runs, as against a run that ended.
_TURNS = {"runs-filter", "runs-all", "runs-newer", "runs-older"}


def _is_about_the_key(request: HttpRequest) -> bool:
    return bool(request.POST.get("key") or request.POST.get("forget_key"))


@needs(Right.READ)
@require_safe
def page(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    panel = modes.context(endpoint)
    context = {
        **charts.charts_context(endpoint, request.GET),
        **endpoint_page.context(endpoint, panel["policy"]),
        **panel,
        **_runs(request, endpoint),
        "credential": Credential.objects.filter(endpoint=endpoint).first(),
        "progress": progress.of_latest(endpoint),
        "spend": Spend.objects.today(endpoint),
    }
    return render(request, "endpoints/endpoint.html", context)


@needs(Right.READ)
@require_safe
def runs(request: HttpRequest, slug: str) -> HttpResponse:
    """The table of runs; when a run has ended, with all else on the page that it changed."""
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    table = _runs(request, endpoint)
    if request.headers.get("HX-Trigger") in _TURNS:
        response = render(request, "endpoints/_runs_panel.html", {"endpoint": endpoint, **table})
        response["HX-Push-Url"] = _page_url(request, endpoint, table["runs"].asked.here)
        return response
    found = endpoint_page.context(endpoint, current_policy(slug))
    return render(request, "endpoints/_runs_panel.html", {**found, **table, "oob": True})


@needs(Right.READ)
@require_safe
def policy(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    context = endpoint_page.standing(endpoint, endpoint.profile, current_policy(slug))
    return render(request, "endpoints/_policy.html", {**context, "oob": True})


@needs(Right.OPERATE)
@require_reauthentication_when(_is_about_the_key)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    preset = presets.named(request.GET.get("preset", ""))
    initial = beginning_of(preset, request.GET.get("model", "")) if preset else None
    form = EndpointForm(request.POST or None, initial=initial, actor=actor_of(request))
    if request.method == "POST" and form.is_valid():
        try:
            endpoint = endpoints.create(**form.fields_to_create())
        except Refused as exc:
            form.add_error(None, exc.message)
        else:
            told = _("{slug} is registered. Its first run starts now.")
            messages.success(request, told.format(slug=endpoint.slug))
            return redirect(endpoint)
    return form_page(request, form, None, preset=preset)


@needs(Right.OPERATE)
@require_reauthentication_when(_is_about_the_key)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    form = EndpointForm(request.POST or None, endpoint=endpoint, actor=actor_of(request))
    if request.method == "POST" and form.is_valid():
        try:
            by = cast(User, request.user)
            updated = endpoints.update(endpoint, by=by, **form.cleaned_data)
        except Refused as exc:
            form.add_error(None, exc.message)
        else:
            _tell(request, updated)
            return redirect(updated.endpoint)
    return form_page(request, form, endpoint)


@needs(Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def remove(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    if request.method == "POST":
        endpoints.remove(endpoint)
        messages.success(request, _("{slug} was removed.").format(slug=endpoint.slug))
        return redirect("fleet")
    return render(request, "endpoints/endpoint_remove.html", {"endpoint": endpoint})


def _runs(request: HttpRequest, endpoint: Endpoint) -> dict[str, Any]:
    asked = RunFilter(**RunFilterForm(request.GET).read())
    return {
        "runs": runs_table.read(endpoint, asked),
        "runs_choices": runs_table.choices(asked),
        "kept": http.other_parameters(request, runs_table.PARTS),
    }


def _page_url(request: HttpRequest, endpoint: Endpoint, runs_query: str) -> str:
    """The endpoint's page as it is, with another place in the table of runs."""
    kept = http.other_parameters(request, runs_table.PARTS)
    return endpoint.get_absolute_url() + http.join_queries(kept, runs_query)


def form_page(
    request: HttpRequest, form: EndpointForm, endpoint: Endpoint | None, **more: Any
) -> HttpResponse:
    credential = Credential.objects.filter(endpoint=endpoint).first() if endpoint else None
    context = {
        "form": form,
        "endpoint": endpoint,
        "credential": credential,
        "presets": presets.PRESETS,
        "examples": presets.examples(),
        **more,
    }
    return render(request, "endpoints/endpoint_form.html", context)


def _tell(request: HttpRequest, updated: endpoints.Updated) -> None:
    messages.success(request, _("{slug} is saved.").format(slug=updated.endpoint.slug))
    if updated.new_epoch:
        told = _("Its profile key changed, so a new profile begins with a full run.")
        messages.info(request, told)
    if updated.key_wiped:
        messages.warning(
            request,
            _(
                "The stored API key was deleted, because scheme, host or port changed. "
                "Edit the endpoint to give it a new one."
            ),
        )
