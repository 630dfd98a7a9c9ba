"""“Try it” on the endpoint form: a part of the page with htmx, the whole page without scripts."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from dashboard.core.errors import Refused
from dashboard.core.http import server_address
from dashboard.core.permissions import Right, actor_of, needs
from dashboard.endpoints.forms import EndpointForm, TryForm, typed_values
from dashboard.endpoints.services import try_limit
from dashboard.endpoints.try_out import try_request
from dashboard.endpoints.try_out.try_report import TryReport, build_report
from dashboard.endpoints.views.endpoints import render_endpoint_form
from dashboard.models import Endpoint
from dashboard.runs import credentials
from probes.secret import Secret


@needs(Right.OPERATE)
@sensitive_post_parameters("key")
@require_POST
@never_cache
def try_new_endpoint(request: HttpRequest) -> HttpResponse:
    return _try_response(request, None)


@needs(Right.OPERATE)
@sensitive_post_parameters("key")
@require_POST
@never_cache
def try_endpoint(request: HttpRequest, slug: str) -> HttpResponse:
    return _try_response(request, get_object_or_404(Endpoint.objects.kept(), slug=slug))


def _try_response(request: HttpRequest, endpoint: Endpoint | None) -> HttpResponse:
    form = TryForm(request.POST, endpoint=endpoint)
    context: dict[str, Any] = {"try_form": form}
    assert isinstance(request.user, User)
    try:
        if form.is_valid():
            try_limit.count_try(request.user)
            context["try_report"] = _send_try(request, form, endpoint)
    except Refused as exc:
        context["refusal"] = exc.message
    if request.headers.get("HX-Request"):
        return render(request, "endpoints/_try_out_report.html", context)
    # Without scripts the response is the whole form, without the typed key: no page contains one.
    context["key_is_gone"] = bool(request.POST.get("key"))
    typed = typed_values(request.POST.dict())
    endpoint_form = EndpointForm(endpoint=endpoint, initial=typed, actor=actor_of(request))
    return render_endpoint_form(request, endpoint_form, endpoint, **context)


def _send_try(request: HttpRequest, form: TryForm, endpoint: Endpoint | None) -> TryReport:
    fields = form.cleaned_data
    key, key_label = _choose_key(fields, endpoint)
    target = try_request.build_target(fields, key)
    result = try_request.send_try(target, served_at=server_address(request))
    return build_report(result, target, key_label=key_label)


def _choose_key(fields: dict[str, Any], endpoint: Endpoint | None) -> tuple[Secret | None, str]:
    """The key to send and its label on the page."""
    if fields["key"]:
        return fields["key"], _("the one entered above")
    if endpoint is None or fields["forget_key"] or not credentials.has_key(endpoint):
        return None, _("none")
    key = try_request.stored_key(endpoint, fields["base_url"])
    if key is None:
        return None, _("none: the stored one belongs to another host, and is not sent to this one")
    return key, _("the stored one")
