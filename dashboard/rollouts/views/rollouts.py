"""Rollouts: the list, one request, requesting a promotion, deciding and stepping back."""

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
from dashboard.rollouts import queries, request_page, stage_panel
from dashboard.rollouts.forms import StepBackForm
from dashboard.rollouts.queries import RequestFilter, RequestFilterForm
from dashboard.rollouts.text import STATE_LABELS, stage_name
from dashboard.trust import rollout_requests


@needs(Right.READ)
@require_safe
def rollouts_page(request: HttpRequest) -> HttpResponse:
    actor, user = actor_of(request), cast(User, request.user)
    request_filter = RequestFilter(**RequestFilterForm(request.GET).read())
    paginator = Paginator(queries.past_requests(request_filter, actor), queries.PAGE_SIZE)
    context = {
        **queries.read_open_rollouts(user, actor),
        **queries.filter_choices(actor),
        "request_filter": request_filter,
        "page": paginator.get_page(request.GET.get("page")),
        "states": [(state, label) for state, label in STATE_LABELS.items() if state != "pending"],
    }
    return render(request, "rollouts/rollouts.html", context)


@needs(Right.READ)
@require_safe
def request_detail(request: HttpRequest, request_id: int) -> HttpResponse:
    page = _read_page(request, request_id)
    seen = request.GET.get("seen")
    if seen is None:
        return _render_page(request, page)
    if seen == page.state_mark:
        return HttpResponse(status=204)
    if page.is_pending:
        return render(request, "rollouts/_stage_changed.html", {"page": page})
    # A decision is no longer possible, so the whole request is replaced, form included.
    response = render(request, "rollouts/_request.html", {"page": page})
    response["HX-Retarget"], response["HX-Reswap"] = "#request", "outerHTML"
    return response


@needs(Right.DECIDE)
@require_reauthentication
@require_POST
def decide(request: HttpRequest, request_id: int) -> HttpResponse:
    """A refusal, such as an earlier decision, is shown on the page of the request."""
    rollout_request, form = _get_request(request_id), ReasonForm(request.POST)
    verdict = _VERDICTS.get(request.POST.get("verdict", ""))
    if verdict is None or not form.is_valid():
        refusal = "" if verdict else _("Say whether you approve or reject it.")
        return _render_page(request, _read_page(request, request_id), form=form, refusal=refusal)
    decide_request, message = verdict
    try:
        decide_request(
            rollout_request, by=cast(User, request.user), reason=form.cleaned_data["reason"]
        )
    except Refused as exc:
        return _render_page(
            request, _read_page(request, request_id), form=form, refusal=exc.message
        )
    messages.success(request, str(message))
    return redirect("rollout", request_id)


@needs(Right.OPERATE)
@require_POST
def withdraw(request: HttpRequest, request_id: int) -> HttpResponse:
    rollout_request, reason = _get_request(request_id), request.POST.get("reason", "")
    try:
        rollout_requests.withdraw(rollout_request, by=cast(User, request.user), reason=reason)
    except Refused as exc:
        return _render_page(request, _read_page(request, request_id), refusal=exc.message)
    messages.success(request, _("The request is withdrawn; nothing was changed by it."))
    return redirect("rollout", request_id)


@needs(Right.OPERATE)
@require_POST
def request_promotion(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    reason, profile = request.POST.get("reason", ""), endpoint.profile
    if request.POST.get("profile", str(profile.epoch)) != str(profile.epoch):
        refusal = _(
            "The key has changed since you opened this page: look at the new profile first."
        )
        return _render_refusal(request, endpoint, refusal, reason)
    try:
        created = rollout_requests.request_promotion(
            profile, by=cast(User, request.user), reason=reason
        )
    except Refused as exc:
        return _render_refusal(request, endpoint, exc.message, reason)
    message = _("Asked for {stage}. Somebody else decides now; the request says until when.")
    messages.success(request, message.format(stage=stage_name(created.to_stage)))
    address = created.get_absolute_url()
    is_htmx = request.headers.get("HX-Request")
    return HttpResponseClientRedirect(address) if is_htmx else redirect(address)


@needs(Right.TIGHTEN)
@require_http_methods(["GET", "HEAD", "POST"])
def step_back(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    form = StepBackForm(endpoint, request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            message = form.step_back(by=cast(User, request.user))
        except Refused as exc:
            form.add_error(None, exc.message)
        else:
            messages.success(request, message)
            return redirect(f"{endpoint.get_absolute_url()}#rollout")
    return render(request, "rollouts/step_back.html", {"endpoint": endpoint, "form": form})


_VERDICTS = {
    "approve": (rollout_requests.approve, gettext_lazy("Approved. It holds from now on.")),
    "reject": (rollout_requests.reject, gettext_lazy("Rejected. Nothing was changed by it.")),
}


def _get_request(request_id: int) -> RolloutRequest:
    requests = RolloutRequest.objects.filter(profile__endpoint__removed_at=None)
    related = ("profile__endpoint", "switch__author", "requested_by", "decided_by", "gates")
    return get_object_or_404(requests.select_related(*related), pk=request_id)


def _read_page(request: HttpRequest, request_id: int) -> request_page.RequestPage:
    user, actor = cast(User, request.user), actor_of(request)
    return request_page.read_request_page(_get_request(request_id), user, actor)


def _render_page(
    request: HttpRequest,
    page: request_page.RequestPage,
    *,
    form: ReasonForm | None = None,
    refusal: str = "",
) -> HttpResponse:
    context = {"page": page, "form": form or ReasonForm(), "refusal": refusal}
    return render(request, "rollouts/request.html", context)


def _render_refusal(
    request: HttpRequest, endpoint: Endpoint, refusal: str, reason: str
) -> HttpResponse:
    """The panel with the refusal and the typed reason; without htmx, the page with a message."""
    if not request.headers.get("HX-Request"):
        messages.error(request, refusal)
        return redirect(f"{endpoint.get_absolute_url()}#rollout")
    context = {
        "endpoint": endpoint,
        "rollout": stage_panel.read_stage_panel(endpoint, endpoint.profile),
        "request_refusal": refusal,
        "request_reason": reason,
    }
    return render(request, "rollouts/_stage_panel.html", context)
