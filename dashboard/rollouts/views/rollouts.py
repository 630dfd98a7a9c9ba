"""Rollouts: what waits and what was decided, one request, and asking for a stage or less of it."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from dashboard.accounts.reauthentication import require_reauthentication
from dashboard.core.errors import Refused
from dashboard.core.permissions import Right, actor_of, needs
from dashboard.core.reasons import ReasonForm
from dashboard.models import Endpoint, RolloutRequest
from dashboard.rollouts import queries as rollouts_page
from dashboard.rollouts import request_page, stage_panel
from dashboard.rollouts import text as stage_words
from dashboard.rollouts.forms import StepBackForm
from dashboard.rollouts.queries import RequestFilter, RequestFilterForm
from dashboard.rollouts.text import STATES
from dashboard.trust import rollout_requests


@needs(Right.READ)
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    actor, user = actor_of(request), cast(User, request.user)
    asked = RequestFilter(**RequestFilterForm(request.GET).read())
    pages = Paginator(rollouts_page.past(asked, actor), rollouts_page.PAGE)
    shown = pages.get_page(request.GET.get("page"))
    context = {
        **rollouts_page.standing(user, actor),
        **rollouts_page.choices(actor),
        "asked": asked,
        "page": shown,
        "states": [(value, words) for value, words in STATES.items() if value != "pending"],
    }
    return render(request, "rollouts/rollouts.html", context)


@needs(Right.READ)
@require_safe
def detail(request: HttpRequest, request_id: int) -> HttpResponse:
    look = _look(request, request_id)
    seen = request.GET.get("seen")
    if seen is None:
        return _page(request, look)
    if seen == look.seen:
        return HttpResponse(status=204)
    if look.is_pending:
        return render(request, "rollouts/_stage_changed.html", {"look": look})
    # Nobody can decide any more, so the form may go.
    answer = render(request, "rollouts/_request.html", {"look": look})
    answer["HX-Retarget"], answer["HX-Reswap"] = "#request", "outerHTML"
    return answer


@needs(Right.DECIDE)
@require_reauthentication
@require_POST
def decide(request: HttpRequest, request_id: int) -> HttpResponse:
    """Whoever comes second reads who was first, on the page of the request."""
    found, form = _found(request_id), ReasonForm(request.POST)
    verdict = _VERDICTS.get(request.POST.get("verdict", ""))
    if verdict is None or not form.is_valid():
        refusal = "" if verdict else _("Say whether you approve or reject it.")
        return _page(request, _look(request, request_id), form=form, refusal=refusal)
    act, done = verdict
    try:
        act(found, by=cast(User, request.user), reason=form.cleaned_data["reason"])
    except Refused as exc:
        return _page(request, _look(request, request_id), form=form, refusal=exc.message)
    messages.success(request, str(done))
    return redirect("rollout", request_id)


@needs(Right.OPERATE)
@require_POST
def withdraw(request: HttpRequest, request_id: int) -> HttpResponse:
    found, reason = _found(request_id), request.POST.get("reason", "")
    try:
        rollout_requests.withdraw(found, by=cast(User, request.user), reason=reason)
    except Refused as exc:
        return _page(request, _look(request, request_id), refusal=exc.message)
    messages.success(request, _("The request is withdrawn; nothing was changed by it."))
    return redirect("rollout", request_id)


@needs(Right.OPERATE)
@require_POST
def ask(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    reason, profile = request.POST.get("reason", ""), endpoint.profile
    if request.POST.get("profile", str(profile.epoch)) != str(profile.epoch):
        gone = _("The key has changed since you opened this page: look at the new profile first.")
        return _not_asked(request, endpoint, gone, reason)
    try:
        found = rollout_requests.ask(profile, by=cast(User, request.user), reason=reason)
    except Refused as exc:
        return _not_asked(request, endpoint, exc.message, reason)
    said = _("Asked for {stage}. Somebody else decides now; the request says until when.")
    messages.success(request, said.format(stage=stage_words.name_of(found.to_stage)))
    address = found.get_absolute_url()
    is_part = request.headers.get("HX-Request")
    return HttpResponseClientRedirect(address) if is_part else redirect(address)


@needs(Right.TIGHTEN)
@require_http_methods(["GET", "HEAD", "POST"])
def step_back(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    form = StepBackForm(endpoint, request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            said = form.step_back(by=cast(User, request.user))
        except Refused as exc:
            form.add_error(None, exc.message)
        else:
            messages.success(request, said)
            return redirect(f"{endpoint.get_absolute_url()}#rollout")
    return render(request, "rollouts/step_back.html", {"endpoint": endpoint, "form": form})


_VERDICTS = {
    "approve": (rollout_requests.approve, gettext_lazy("Approved. It holds from now on.")),
    "reject": (rollout_requests.reject, gettext_lazy("Rejected. Nothing was changed by it.")),
}


def _found(request_id: int) -> RolloutRequest:
    kept = RolloutRequest.objects.filter(profile__endpoint__removed_at=None)
    related = ("profile__endpoint", "switch__author", "requested_by", "decided_by", "gates")
    return get_object_or_404(kept.select_related(*related), pk=request_id)


def _look(request: HttpRequest, request_id: int) -> request_page.Look:
    user, actor = cast(User, request.user), actor_of(request)
    return request_page.read(_found(request_id), user, actor)


def _page(
    request: HttpRequest,
    look: request_page.Look,
    *,
    form: ReasonForm | None = None,
    refusal: str = "",
) -> HttpResponse:
    context = {"look": look, "form": form or ReasonForm(), "refusal": refusal}
    return render(request, "rollouts/request.html", context)


def _not_asked(request: HttpRequest, endpoint: Endpoint, refusal: str, reason: str) -> HttpResponse:
    """The panel with the refusal and what was typed; without scripts, its page with a message."""
    if not request.headers.get("HX-Request"):
        messages.error(request, refusal)
        return redirect(f"{endpoint.get_absolute_url()}#rollout")
    context = {"endpoint": endpoint, "rollout": stage_panel.read(endpoint, endpoint.profile)}
    typed = {"ask_refusal": refusal, "ask_reason": reason}
    return render(request, "rollouts/_stage_panel.html", {**context, **typed})
