"""“Try it” on the form of an endpoint: the whole page without scripts, a part of it with htmx."""

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
from dashboard.core.permissions import Right, actor_of, needs
from dashboard.endpoints.forms import EndpointForm, TryForm, kept_input
from dashboard.endpoints.services import try_limit
from dashboard.endpoints.try_out import report as tried_words
from dashboard.endpoints.try_out import try_request
from dashboard.endpoints.try_out.report import Told
from dashboard.endpoints.views.endpoints import form_page
from dashboard.models import Endpoint
from dashboard.runs import credentials
from probes.secret import Secret


@needs(Right.OPERATE)
@sensitive_post_parameters("key")
@require_POST
@never_cache
def new(request: HttpRequest) -> HttpResponse:
    return _answer(request, None)


@needs(Right.OPERATE)
@sensitive_post_parameters("key")
@require_POST
@never_cache
def edit(request: HttpRequest, slug: str) -> HttpResponse:
    return _answer(request, get_object_or_404(Endpoint.objects.kept(), slug=slug))


def _answer(request: HttpRequest, endpoint: Endpoint | None) -> HttpResponse:
    form = TryForm(request.POST, endpoint=endpoint)
    context: dict[str, Any] = {"try_form": form}
    assert isinstance(request.user, User)
    try:
        if form.is_valid():
            try_limit.count(request.user)
            context["tried"] = _try(form, endpoint)
    except Refused as exc:
        context["refusal"] = exc.message
    if request.headers.get("HX-Request"):
        return render(request, "endpoints/_try_out_report.html", context)
    # Without scripts the whole form comes back. A typed key does not: no page ever holds one.
    context["key_is_gone"] = bool(request.POST.get("key"))
    typed = kept_input(request.POST.dict())
    kept = EndpointForm(endpoint=endpoint, initial=typed, actor=actor_of(request))
    return form_page(request, kept, endpoint, **context)


def _try(form: TryForm, endpoint: Endpoint | None) -> Told:
    fields = form.cleaned_data
    key, words = _key(fields, endpoint)
    target = try_request.target_of(fields, key)
    return tried_words.tell(try_request.ask(target), target, with_key=words)


def _key(fields: dict[str, Any], endpoint: Endpoint | None) -> tuple[Secret | None, str]:
    """The key to send, and a word on which it is."""
    if fields["key"]:
        return fields["key"], _("the one entered above")
    if endpoint is None or fields["forget_key"] or not credentials.has_key(endpoint):
        return None, _("none")
    key = try_request.stored_key(endpoint, fields["base_url"])
    if key is None:
        return None, _("none: the stored one belongs to another host, and is not sent to this one")
    return key, _("the stored one")
