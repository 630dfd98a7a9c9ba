"""The card that shows the modes of an endpoint and switches them manually."""

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
def modes_card(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    if request.method != "POST":
        return _render_card(request, endpoint)
    form = SwitchOnForm(request.POST)
    if not form.is_valid():
        return _respond(request, endpoint, refusal=_first_error(form), form=form)
    mode: Mode = form.cleaned_data["mode"]
    try:
        _switch_on(request, endpoint, mode, form.cleaned_data)
    except Refused as exc:
        return _respond(request, endpoint, refusal=exc.message, form=form)
    message = _("{mode} is pinned.") if form.cleaned_data["pinned"] else _("{mode} is on.")
    return _respond(request, endpoint, done=message.format(mode=mode.value))


# The right to switch modes on includes switching them off; the service checks automatic ones.
@needs(Right.TIGHTEN)
@require_POST
def switch_mode_off(request: HttpRequest, slug: str, switch_id: int) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    switch = get_object_or_404(ModeSwitch, pk=switch_id, profile__endpoint=endpoint)
    reason = request.POST.get("reason", "")
    try:
        was_on = modes.switch_off(switch, by=cast(User, request.user), reason=reason)
    except Refused as exc:
        return _respond(request, endpoint, refusal=exc.message)
    if not was_on:
        return _respond(request, endpoint, refusal=_already_off_message(switch))
    return _respond(request, endpoint, done=_("{mode} is off.").format(mode=switch.mode))


@needs(Right.OPERATE)
@require_POST
def request_mode_release(request: HttpRequest, slug: str, switch_id: int) -> HttpResponse:
    """Request the release of a pinned mode; a second person decides."""
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    switch = get_object_or_404(ModeSwitch, pk=switch_id, profile__endpoint=endpoint)
    by, reason = cast(User, request.user), request.POST.get("reason", "")
    try:
        rollout_requests.request_unpin(switch, by=by, reason=reason)
    except Refused as exc:
        return _respond(request, endpoint, refusal=exc.message)
    message = _("Asked to let go of {mode}. It holds until somebody else approves.")
    return _respond(request, endpoint, done=message.format(mode=switch.mode))


def _already_off_message(switch: ModeSwitch) -> str:
    """The message for a mode that was off already, with who switched it off."""
    ended = ModeSwitch.objects.select_related("off_by").get(pk=switch.pk)
    if ended.off_by is None:
        return _("{mode} was off already.").format(mode=ended.mode)
    message = _("{name} had switched {mode} off already.")
    return message.format(name=ended.off_by.get_username(), mode=ended.mode)


def _render_card(request: HttpRequest, endpoint: Endpoint) -> HttpResponse:
    """The card; for a card that polls with `seen`, nothing or a message about the change.

    A card is not replaced while polling, because a reason may be half typed in it.
    """
    context = modes_context(endpoint)
    seen = request.GET.get("seen")
    if seen is None:
        return render(request, "policy/_modes.html", context)
    if seen == context["panel"].state_key:
        return HttpResponse(status=204)
    last = modes_panel.last_change(context["panel"])
    return render(request, "policy/_modes_changed.html", {**context, "last": last})


def modes_context(endpoint: Endpoint) -> dict[str, Any]:
    """The context of the card, on its own and inside the endpoint page."""
    policy = current_policy(endpoint.slug)
    panel = modes_panel.read_modes_panel(endpoint.profile_in_force, policy.body if policy else {})
    return {
        "endpoint": endpoint,
        "panel": panel,
        "policy": policy,
        "switch_form": SwitchOnForm(auto_id=False),
    }


def _switch_on(
    request: HttpRequest, endpoint: Endpoint, mode: Mode, values: dict[str, Any]
) -> None:
    lasts = _time_until(values["until"]) if values["until"] else values["lasts"]
    by = cast(User, request.user)
    reason, pinned = values["reason"], values["pinned"]
    profile = endpoint.profile_in_force
    modes.switch_on(profile, mode, by=by, reason=reason, lasts=lasts, pinned=pinned)


def _time_until(moment: datetime) -> timedelta:
    row = fetch_row("SELECT %(moment)s - statement_timestamp()", {"moment": moment})
    assert row is not None
    if row[0] <= timedelta():
        raise Refused(_("That time is over already. Times are in UTC."))
    return cast(timedelta, row[0])


def _first_error(form: SwitchOnForm | ReasonForm) -> str:
    return next(str(error) for errors in form.errors.values() for error in errors)


def _respond(
    request: HttpRequest,
    endpoint: Endpoint,
    *,
    done: str = "",
    refusal: str = "",
    form: SwitchOnForm | None = None,
) -> HttpResponse:
    """The card as it is now; without scripts, a redirect to its page with a message."""
    if not request.headers.get("HX-Request"):
        messages.add_message(request, messages.SUCCESS if done else messages.ERROR, done or refusal)
        return redirect(f"{endpoint.get_absolute_url()}#modes")
    typed = {"typed": form.data} if form else {}
    context = {**modes_context(endpoint), "done": done, "refusal": refusal, **typed}
    response = render(request, "policy/_modes.html", context)
    return trigger_client_event(response, "modes-changed") if done else response
