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
from dashboard.endpoints import presets
from dashboard.endpoints.endpoint_page import read_page_context, read_status_context
from dashboard.endpoints.forms import EndpointForm, preset_initial
from dashboard.endpoints.services import endpoints
from dashboard.models import Credential, Endpoint, Spend
from dashboard.policy.views import modes
from dashboard.runs import progress
from dashboard.runs import table as runs_table
from dashboard.runs.table import RunFilter, RunFilterForm
from dashboard.trust.policy_renewal import current_policy

# Controls of the table of runs. Other requests for it come from a run that ended.
_TABLE_CONTROLS = {"runs-filter", "runs-all", "runs-newer", "runs-older"}


def _changes_key(request: HttpRequest) -> bool:
    return bool(request.POST.get("key") or request.POST.get("forget_key"))


@needs(Right.READ)
@require_safe
def endpoint_page(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    mode_panel = modes.modes_context(endpoint)
    context = {
        **charts.charts_context(endpoint, request.GET),
        **read_page_context(endpoint, mode_panel["policy"]),
        **mode_panel,
        **_runs_context(request, endpoint),
        "credential": Credential.objects.filter(endpoint=endpoint).first(),
        "progress": progress.read_latest_progress(endpoint),
        "spend": Spend.objects.today(endpoint),
    }
    return render(request, "endpoints/endpoint.html", context)


@needs(Right.READ)
@require_safe
def endpoint_runs(request: HttpRequest, slug: str) -> HttpResponse:
    """The table of runs; after the end of a run with all other parts that it changed."""
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    table = _runs_context(request, endpoint)
    if request.headers.get("HX-Trigger") in _TABLE_CONTROLS:
        response = render(request, "endpoints/_runs_panel.html", {"endpoint": endpoint, **table})
        response["HX-Push-Url"] = _page_url(request, endpoint, table["runs"].filter.current_address)
        return response
    context = read_page_context(endpoint, current_policy(slug))
    return render(request, "endpoints/_runs_panel.html", {**context, **table, "oob": True})


@needs(Right.READ)
@require_safe
def endpoint_policy(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    context = read_status_context(endpoint, endpoint.profile, current_policy(slug))
    return render(request, "endpoints/_policy.html", {**context, "oob": True})


@needs(Right.OPERATE)
@require_reauthentication_when(_changes_key)
@require_http_methods(["GET", "HEAD", "POST"])
def new_endpoint(request: HttpRequest) -> HttpResponse:
    preset = presets.find_preset(request.GET.get("preset", ""))
    initial = preset_initial(preset, request.GET.get("model", "")) if preset else None
    form = EndpointForm(request.POST or None, initial=initial, actor=actor_of(request))
    if request.method == "POST" and form.is_valid():
        try:
            endpoint = endpoints.create(**form.fields_to_create())
        except Refused as exc:
            form.add_error(None, exc.message)
        else:
            message = _("{slug} is registered. Its first run starts now.")
            messages.success(request, message.format(slug=endpoint.slug))
            return redirect(endpoint)
    return render_endpoint_form(request, form, None, preset=preset)


@needs(Right.OPERATE)
@require_reauthentication_when(_changes_key)
@require_http_methods(["GET", "HEAD", "POST"])
def edit_endpoint(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    form = EndpointForm(request.POST or None, endpoint=endpoint, actor=actor_of(request))
    if request.method == "POST" and form.is_valid():
        try:
            by = cast(User, request.user)
            updated = endpoints.update(endpoint, by=by, **form.cleaned_data)
        except Refused as exc:
            form.add_error(None, exc.message)
        else:
            _add_update_messages(request, updated)
            return redirect(updated.endpoint)
    return render_endpoint_form(request, form, endpoint)


@needs(Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def remove_endpoint(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    if request.method == "POST":
        endpoints.remove(endpoint)
        messages.success(request, _("{slug} was removed.").format(slug=endpoint.slug))
        return redirect("fleet")
    return render(request, "endpoints/endpoint_remove.html", {"endpoint": endpoint})


def _runs_context(request: HttpRequest, endpoint: Endpoint) -> dict[str, Any]:
    run_filter = RunFilter(**RunFilterForm(request.GET).read())
    return {
        "runs": runs_table.read_run_table(endpoint, run_filter),
        "runs_choices": runs_table.filter_choices(run_filter),
        "kept": http.other_parameters(request, runs_table.PARAMETERS),
    }


def _page_url(request: HttpRequest, endpoint: Endpoint, runs_query: str) -> str:
    """The address of the endpoint page with another page of its table of runs."""
    kept = http.other_parameters(request, runs_table.PARAMETERS)
    return endpoint.get_absolute_url() + http.join_queries(kept, runs_query)


def render_endpoint_form(
    request: HttpRequest, form: EndpointForm, endpoint: Endpoint | None, **extra: Any
) -> HttpResponse:
    credential = Credential.objects.filter(endpoint=endpoint).first() if endpoint else None
    context = {
        "form": form,
        "endpoint": endpoint,
        "credential": credential,
        "presets": presets.PRESETS,
        "examples": presets.provider_examples(),
        **extra,
    }
    return render(request, "endpoints/endpoint_form.html", context)


def _add_update_messages(request: HttpRequest, updated: endpoints.EndpointUpdate) -> None:
    messages.success(request, _("{slug} is saved.").format(slug=updated.endpoint.slug))
    if updated.new_epoch:
        message = _(
            "Its profile key, dialect or request options changed, so another profile begins "
            "with a full run."
        )
        messages.info(request, message)
    if updated.key_wiped:
        messages.warning(
            request,
            _(
                "The stored API key was deleted, because scheme, host or port changed. "
                "Edit the endpoint to give it a new one."
            ),
        )
