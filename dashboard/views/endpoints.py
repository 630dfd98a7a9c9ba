from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from dashboard import fleet, history, incidents, policy_words, presets, progress, watch_table
from dashboard.errors import Refused
from dashboard.forms import EndpointForm, beginning_of
from dashboard.models import Credential, Endpoint, Spend
from dashboard.services import detection, endpoints, policies
from dashboard.views import charts, modes

MOST_PROFILES = 10


@require_safe
def page(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    panel = modes.context(endpoint)
    context = {
        **charts.context(endpoint, request.GET),
        **_runs_context(endpoint),
        **panel,
        "policy_lines": policy_words.lines(panel["policy"].body) if panel["policy"] else [],
        "credential": Credential.objects.filter(endpoint=endpoint).first(),
        "progress": progress.of_latest(endpoint),
        "profiles": list(endpoint.profiles.order_by("-epoch")[:MOST_PROFILES]),
        "spend": Spend.objects.today(endpoint),
    }
    return render(request, "dashboard/endpoint.html", context)


@require_safe
def runs(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    return render(request, "dashboard/_runs.html", {**_runs_context(endpoint), "oob": True})


@require_safe
def policy(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    found = policies.current(slug)
    lines = policy_words.lines(found.body) if found else []
    context = {"endpoint": endpoint, "policy": found, "policy_lines": lines}
    return render(request, "dashboard/_policy.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    preset = presets.named(request.GET.get("preset", ""))
    initial = beginning_of(preset, request.GET.get("model", "")) if preset else None
    form = EndpointForm(request.POST or None, initial=initial)
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


@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    form = EndpointForm(request.POST or None, endpoint=endpoint)
    if request.method == "POST" and form.is_valid():
        try:
            updated = endpoints.update(endpoint, **form.cleaned_data)
        except Refused as exc:
            form.add_error(None, exc.message)
        else:
            _tell(request, updated)
            return redirect(updated.endpoint)
    return form_page(request, form, endpoint)


@require_http_methods(["GET", "HEAD", "POST"])
def remove(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    if request.method == "POST":
        endpoints.remove(endpoint)
        messages.success(request, _("{slug} was removed.").format(slug=endpoint.slug))
        return redirect("fleet")
    return render(request, "dashboard/endpoint_remove.html", {"endpoint": endpoint})


def _runs_context(endpoint: Endpoint) -> dict[str, Any]:
    """What a run that ends changes, beside the chart."""
    profile = endpoint.profile
    return {
        "endpoint": endpoint,
        "summary": fleet.summary_of(endpoint, timezone.now()),
        "open_incidents": incidents.open_of(profile),
        "watched": watch_table.read(endpoint, detection.watch_of(profile)),
        "runs": history.recent_runs(endpoint),
        "findings": history.latest_findings(endpoint),
    }


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
    return render(request, "dashboard/endpoint_form.html", context)


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
