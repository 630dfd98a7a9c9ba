"""The settings pages of channels, for administrators."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.accounts.reauthentication import require_reauthentication
from dashboard.core.errors import Refused
from dashboard.core.permissions import Right, needs
from dashboard.models import Channel, Delivery
from dashboard.notifications.forms import ChannelForm
from dashboard.notifications.services import channels, deliveries
from dashboard.notifications.services.channels import ChannelSecret

MAX_DELIVERIES = 100


@needs(Right.ADMINISTER)
@require_safe
def channels_page(request: HttpRequest) -> HttpResponse:
    last_delivery = Delivery.objects.filter(channel=OuterRef("pk")).newest_first()
    kept_channels = Channel.objects.kept().annotate(
        last_state=Subquery(last_delivery.values("state")[:1]),
        last_at=Subquery(last_delivery.values("created_at")[:1]),
    )
    context = {
        "channels": kept_channels.order_by("name"),
        "quiet": deliveries.quiet_channels(),
        "deliveries": _recent_deliveries(),
    }
    return render(request, "notifications/channels.html", context)


@needs(Right.ADMINISTER)
@require_safe
def deliveries_page(request: HttpRequest) -> HttpResponse:
    context = {"deliveries": _recent_deliveries(), "quiet": deliveries.quiet_channels()}
    return render(request, "notifications/_deliveries.html", context)


@needs(Right.ADMINISTER)
@require_reauthentication
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def new_channel(request: HttpRequest) -> HttpResponse:
    form = ChannelForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            created = channels.create_channel(
                name=data["name"],
                kind=data["kind"],
                url=data["url"],
                by=cast(User, request.user),
                preferences=form.preferences(),
            )
        except Refused as exc:
            form.add_error(None, exc.message)
        else:
            return _render_secret(request, created)
    return render(request, "notifications/channel_form.html", {"form": form})


@needs(Right.ADMINISTER)
@require_reauthentication
@require_http_methods(["GET", "HEAD", "POST"])
def edit_channel(request: HttpRequest, channel_id: int) -> HttpResponse:
    channel = _find_channel(channel_id)
    form = ChannelForm(request.POST or None, channel=channel)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            channels.change_channel(
                channel, name=data["name"], url=data["url"], preferences=form.preferences()
            )
        except Refused as exc:
            form.add_error(None, exc.message)
        else:
            messages.success(request, _("{name} is saved.").format(name=data["name"]))
            return redirect("channels")
    return render(request, "notifications/channel_form.html", {"form": form, "channel": channel})


@needs(Right.ADMINISTER)
@require_http_methods(["GET", "HEAD", "POST"])
def remove_channel(request: HttpRequest, channel_id: int) -> HttpResponse:
    channel = _find_channel(channel_id)
    if request.method == "POST":
        channels.remove_channel(channel)
        messages.success(request, _("{name} is removed.").format(name=channel.name))
        return redirect("channels")
    return render(request, "notifications/channel_remove.html", {"channel": channel})


@needs(Right.ADMINISTER)
@require_reauthentication
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def rotate_secret(request: HttpRequest, channel_id: int) -> HttpResponse:
    channel = _find_channel(channel_id)
    if request.method == "POST":
        try:
            return _render_secret(request, channels.rotate_secret(channel))
        except Refused as exc:
            messages.error(request, exc.message)
            return redirect("channels")
    return render(request, "notifications/channel_rotate.html", {"channel": channel})


@needs(Right.ADMINISTER)
@require_POST
def send_test(request: HttpRequest, channel_id: int) -> HttpResponse:
    delivery = channels.send_test(_find_channel(channel_id), by=cast(User, request.user))
    if request.headers.get("HX-Request"):
        return _render_result(request, delivery)
    messages.info(request, _("A test message is on its way; the log below tells how it went."))
    return redirect("channels")


@needs(Right.ADMINISTER)
@require_safe
def delivery_result(request: HttpRequest, delivery_id: int) -> HttpResponse:
    return _render_result(request, get_object_or_404(Delivery, pk=delivery_id))


@needs(Right.ADMINISTER)
@require_POST
def retry_delivery(request: HttpRequest, delivery_id: int) -> HttpResponse:
    if deliveries.retry_delivery(get_object_or_404(Delivery, pk=delivery_id)):
        messages.info(request, _("It is tried again."))
    else:
        messages.warning(request, _("It had not failed, or its channel is gone."))
    return redirect("channels")


def _find_channel(channel_id: int) -> Channel:
    return get_object_or_404(Channel.objects.kept(), pk=channel_id)


def _recent_deliveries() -> QuerySet[Delivery]:
    newest = Delivery.objects.newest_first().select_related("channel")
    return newest.prefetch_related("notices__endpoint")[:MAX_DELIVERIES]


def _render_secret(request: HttpRequest, created: ChannelSecret) -> HttpResponse:
    if not created.secret:
        text = _("{name} is added. Send it a test message.").format(name=created.channel.name)
        messages.success(request, text)
        return redirect("channels")
    # The response to the POST itself, without a redirect: no other page shows the secret.
    context: dict[str, Any] = {"channel": created.channel, "secret": created.secret}
    return render(request, "notifications/channel_secret.html", context)


def _render_result(request: HttpRequest, delivery: Delivery) -> HttpResponse:
    return render(request, "notifications/_delivery_result.html", {"delivery": delivery})
