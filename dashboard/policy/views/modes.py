"""The card that shows the modes of an endpoint and switches them by hand."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import trigger_client_event

from dashboard.core.errors import Refused
from dashboard.core.permissions import Right, needs
from dashboard.core.reasons import ReasonForm
from dashboard.core.sql import fetch_row
from dashboard.models import Endpoint, ModeSwitch
from dashboard.policy import modes_panel
from dashboard.policy.forms import SwitchOnForm
from dashboard.trust import modes, rollout_requests
from dashboard.trust.policy_renewal import current_policy
from health.modes import Mode


@needs(Right.READ, change=Right.TIGHTEN)
@require_http_methods(["GET", "HEAD", "POST"])
def part(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    if request.method != "POST":
        return _shown(request, endpoint)
    form = SwitchOnForm(request.POST)
    if not form.is_valid():
        return _answer(request, endpoint, refusal=_first_error(form), form=form)
    mode: Mode = form.cleaned_data["mode"]
    try:
        _switch_on(request, endpoint, mode, form.cleaned_data)
    except Refused as exc:
        return _answer(request, endpoint, refusal=exc.message, form=form)
    said = _("{mode} is pinned.") if form.cleaned_data["pinned"] else _("{mode} is on.")
    return _answer(request, endpoint, done=said.format(mode=mode.value))


# Whoever may switch modes on may let go of them; the service says who may undo an incident's.
@needs(Right.TIGHTEN)
@require_POST
def off(request: HttpRequest, slug: str, switch_id: int) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    switch = get_object_or_404(ModeSwitch, pk=switch_id, profile__endpoint=endpoint)
    reason = request.POST.get("reason", "")
    try:
        was_on = modes.switch_off(switch, by=cast(User, request.user), reason=reason)
    except Refused as exc:
        return _answer(request, endpoint, refusal=exc.message)
    if not was_on:
        return _answer(request, endpoint, refusal=_was_off(switch))
    return _answer(request, endpoint, done=_("{mode} is off.").format(mode=switch.mode))


@needs(Right.OPERATE)
@require_POST
def release(request: HttpRequest, slug: str, switch_id: int) -> HttpResponse:
    """Ask that a pinned mode be let go of; somebody else decides."""
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    switch = get_object_or_404(ModeSwitch, pk=switch_id, profile__endpoint=endpoint)
    by, reason = cast(User, request.user), request.POST.get("reason", "")
    try:
        rollout_requests.request_unpin(switch, by=by, reason=reason)
    except Refused as exc:
        return _answer(request, endpoint, refusal=exc.message)
    said = _("Asked to let go of {mode}. It holds until somebody else approves.")
    return _answer(request, endpoint, done=said.format(mode=switch.mode))


def _was_off(switch: ModeSwitch) -> str:
    """Who was faster, or that its time was over."""
    ended = ModeSwitch.objects.select_related("off_by").get(pk=switch.pk)
    if ended.off_by is None:
        return _("{mode} was off already.").format(mode=ended.mode)
    said = _("{name} had switched {mode} off already.")
    return said.format(name=ended.off_by.get_username(), mode=ended.mode)


def _shown(request: HttpRequest, endpoint: Endpoint) -> HttpResponse:
    """The card; or to a card that asks whether it is still true, a word on who changed it.

    It is not swapped unasked: somebody may be writing a reason in it.
    """
    found = context(endpoint)
    seen = request.GET.get("seen")
    if seen is None:
        return render(request, "policy/_modes.html", found)
    if seen == found["panel"].seen:
        return HttpResponse(status=204)
    last = modes_panel.last_change(found["panel"])
    return render(request, "policy/_modes_changed.html", {**found, "last": last})


def context(endpoint: Endpoint) -> dict[str, Any]:
    """What the card needs, on its own and inside its page."""
    policy = current_policy(endpoint.slug)
    panel = modes_panel.read(endpoint.profile_in_force, policy.body if policy else {})
    return {
        "endpoint": endpoint,
        "panel": panel,
        "policy": policy,
        "switch_form": SwitchOnForm(auto_id=False),
    }


def _switch_on(
    request: HttpRequest, endpoint: Endpoint, mode: Mode, chosen: dict[str, Any]
) -> None:
    lasts = _until(chosen["until"]) if chosen["until"] else chosen["lasts"]
    by = cast(User, request.user)
    given = {"reason": chosen["reason"], "lasts": lasts, "pinned": chosen["pinned"]}
    modes.switch_on(endpoint.profile_in_force, mode, by=by, **given)


def _until(moment: datetime) -> timedelta:
    found = fetch_row("SELECT %(moment)s - statement_timestamp()", {"moment": moment})
    assert found is not None
    if found[0] <= timedelta():
        raise Refused(_("That time is over already. Times are in UTC."))
    return cast(timedelta, found[0])


def _first_error(form: SwitchOnForm | ReasonForm) -> str:
    return next(str(error) for errors in form.errors.values() for error in errors)


def _answer(
    request: HttpRequest,
    endpoint: Endpoint,
    *,
    done: str = "",
    refusal: str = "",
    form: SwitchOnForm | None = None,
) -> HttpResponse:
    """The card as it is now; without scripts, its page with a message."""
    if not request.headers.get("HX-Request"):
        messages.add_message(request, messages.SUCCESS if done else messages.ERROR, done or refusal)
        return redirect(f"{endpoint.get_absolute_url()}#modes")
    typed = {"typed": form.data} if form else {}
    shown = {**context(endpoint), "done": done, "refusal": refusal, **typed}
    response = render(request, "policy/_modes.html", shown)
    return trigger_client_event(response, "modes-changed") if done else response
