"""Creates, changes, removes and tests channels, and manages their secrets."""

from __future__ import annotations

import base64
import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import structlog
from django.contrib.auth.models import User
from django.db import DataError, IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from dashboard.audit import services as audit
from dashboard.core import broker, egress_grants, encryption
from dashboard.core.errors import Refused
from dashboard.core.labels import probe_error_text
from dashboard.core.sql import fetch_row
from dashboard.models import Channel, Delivery, Notice
from dashboard.models.audit import Action
from dashboard.notifications.senders import apprise_sender, channel_urls
from probes.egress_rules import EgressDenied
from probes.secret import Secret

log = structlog.get_logger()

# How long the previous secret still signs after a rotation.
ROTATION_PERIOD = timedelta(days=1)
_PREFERENCES = (
    *("kinds", "min_severity", "quiet_from", "quiet_until", "time_zone"),
    *("remind_every", "group_for", "enabled"),
)


@dataclass(frozen=True, slots=True)
class ChannelSecret:
    """A channel with its signing secret, which is shown only once."""

    channel: Channel
    secret: str


def create_channel(
    *, name: str, kind: str, url: str, by: User | None, preferences: Mapping[str, Any] | None = None
) -> ChannelSecret:
    """Create a channel. Only a webhook gets a signing secret."""
    url = _clean_url(kind, url)
    fields = _clean_preferences(preferences or {})
    secret = _generate_secret() if kind == Channel.Kind.WEBHOOK else ""
    try:
        with transaction.atomic():
            channel = Channel.objects.create(
                name=name, kind=kind, created_by=by, sealed_url=b"", **fields
            )
            _store_url(channel, url)
            if secret:
                channel.sealed_secret = _encrypt_part(channel, "secret", secret)
            channel.save()
            audit.record(
                Action.CHANNEL_ADDED,
                subject=_audit_subject(channel),
                by=by,
                after=_channel_json(channel),
            )
    except IntegrityError as exc:
        if "channel_name_once" not in str(exc):
            raise
        raise _name_taken(name) from exc
    return ChannelSecret(channel, secret)


def change_channel(
    channel: Channel, *, name: str, url: str = "", preferences: Mapping[str, Any] | None = None
) -> Channel:
    """Change a channel; an empty URL keeps the old one. Turning it off drops waiting deliveries."""
    fields = _clean_preferences(preferences or {})
    if url:
        url = _clean_url(channel.kind, url)
    try:
        with transaction.atomic():
            channel = Channel.objects.kept().select_for_update().get(pk=channel.pk)
            before = _channel_json(channel)
            channel.name, channel.note = name, ""
            for field, value in fields.items():
                setattr(channel, field, value)
            if url:
                _store_url(channel, url)
            channel.save()
            _record_change(channel, before, after=_channel_json(channel), url=url)
            if not channel.enabled:
                _drop_waiting(channel, "The channel was switched off.")
    except IntegrityError as exc:
        if "channel_name_once" not in str(exc):
            raise
        raise _name_taken(name) from exc
    return channel


@transaction.atomic
def switch_off_channel(channel: Channel, note: str) -> None:
    """Turn a channel off because its receiver is gone, with the reason as a note."""
    if Channel.objects.filter(pk=channel.pk, enabled=True).update(enabled=False, note=note):
        _drop_waiting(channel, note)
        before, after = {"enabled": True}, {"enabled": False}
        subject = _audit_subject(channel)
        audit.record(
            Action.CHANNEL_CHANGED, subject=subject, reason=note, before=before, after=after
        )


@transaction.atomic
def remove_channel(channel: Channel) -> None:
    """Remove a channel with its URL and secrets; its deliveries are kept."""
    if Channel.objects.filter(pk=channel.pk, removed_at=None).update(
        removed_at=Now(), enabled=False, sealed_url=b"", sealed_secret=None, sealed_previous=None
    ):
        audit.record(
            Action.CHANNEL_REMOVED, subject=_audit_subject(channel), before=_channel_json(channel)
        )
    _drop_waiting(channel, "The channel was removed.")


@transaction.atomic
def rotate_secret(channel: Channel) -> ChannelSecret:
    """Create a new signing secret. The old one also signs for a day, for a smooth change."""
    channel = Channel.objects.kept().select_for_update().get(pk=channel.pk)
    if channel.kind != Channel.Kind.WEBHOOK:
        raise Refused(_("Only webhooks are signed."))
    secret = _generate_secret()
    previous = _decrypt_part(channel, "secret", channel.sealed_secret)
    channel.sealed_previous = _encrypt_part(channel, "previous", previous.reveal())
    channel.sealed_secret = _encrypt_part(channel, "secret", secret)
    channel.previous_until = Now() + ROTATION_PERIOD
    channel.save()
    audit.record(
        Action.CHANNEL_CHANGED, subject=_audit_subject(channel), after={"secret": "drawn anew"}
    )
    channel.refresh_from_db()
    return ChannelSecret(channel, secret)


@transaction.atomic
def send_test(channel: Channel, *, by: User) -> Delivery:
    """Queue an immediate test message to this channel; the delivery has the result."""
    body = {
        "title": f"Test of {channel.name}",
        "text": f"{by.get_username()} wanted to know whether this arrives. It does.",
    }
    notice = Notice.objects.create(kind=Notice.Kind.TEST, body=body, routed_at=Now())
    delivery = Delivery.objects.create(
        channel=channel, urgent=True, is_test=True, webhook_id=uuid.uuid4()
    )
    delivery.notices.add(notice)
    transaction.on_commit(_wake_notifier)
    return delivery


def _audit_subject(channel: Channel) -> str:
    return f"channel {channel.name}"


def _channel_json(channel: Channel) -> dict[str, Any]:
    """The fields of a channel that are not secret."""
    return {name: getattr(channel, name) for name in ("name", "kind", "hint", *_PREFERENCES)}


def _record_change(
    channel: Channel, before: Mapping[str, Any], *, after: Mapping[str, Any], url: str
) -> None:
    old, new = audit.changed_values(before, {**after, **({"url": "given"} if url else {})})
    if new:
        audit.record(Action.CHANNEL_CHANGED, subject=_audit_subject(channel), before=old, after=new)


def _wake_notifier() -> None:
    try:
        broker.wake_notifier()
    except broker.BrokerDown as exc:
        # The delivery is stored, so the timer of a worker finds it.
        log.warning("doorbell not rung", error=str(exc))


def channel_url(channel: Channel) -> Secret:
    return _decrypt_part(channel, "url", channel.sealed_url)


def signing_secrets(channel: Channel) -> list[Secret]:
    """The current secret, and the previous one during a rotation."""
    secrets = [_decrypt_part(channel, "secret", channel.sealed_secret)]
    rotating = Channel.objects.filter(pk=channel.pk, previous_until__gt=Now())
    if channel.sealed_previous and rotating.exists():
        secrets.append(_decrypt_part(channel, "previous", channel.sealed_previous))
    return secrets


def _clean_url(kind: str, text: str) -> str:
    url = channel_urls.check_channel_url(kind, text)
    if kind == Channel.Kind.APPRISE:
        apprise_sender.check_apprise_url(Secret(url))
        return url
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    if host.replace(".", "").isdigit() or ":" in host:
        # Host names are checked at each connection; an IP address can be checked now.
        try:
            egress_grants.read_egress_rules().check(host, port)
        except EgressDenied as exc:
            raise Refused(probe_error_text(exc)) from exc
    return url


def _clean_preferences(preferences: Mapping[str, Any]) -> dict[str, Any]:
    _check_time_zone(preferences.get("time_zone", "UTC"))
    start, end = preferences.get("quiet_from"), preferences.get("quiet_until")
    if (start is None) != (end is None) or (start is not None and start == end):
        raise Refused(_("Quiet hours have a beginning and another end, or neither."))
    return dict(preferences)


def _check_time_zone(zone: str) -> None:
    try:
        ZoneInfo(zone)
        # Postgres computes the quiet hours, so it must know the zone as well.
        with transaction.atomic():
            fetch_row("SELECT statement_timestamp() AT TIME ZONE %(zone)s", {"zone": zone})
    except (ZoneInfoNotFoundError, ValueError, OSError, DataError) as exc:
        text = _("There is no time zone {zone}; write one such as Europe/Vienna.")
        raise Refused(text.format(zone=repr(zone))) from exc


def _generate_secret() -> str:
    return f"whsec_{base64.b64encode(os.urandom(32)).decode()}"


def _store_url(channel: Channel, url: str) -> None:
    channel.sealed_url = _encrypt_part(channel, "url", url)
    channel.hint = channel_urls.url_hint(url)


def _encrypt_part(channel: Channel, part: str, text: str) -> bytes:
    return encryption.encrypt_secret(Secret(text), f"channel:{channel.pk} {part}".encode())


def _decrypt_part(channel: Channel, part: str, sealed: bytes | memoryview | None) -> Secret:
    if not sealed:
        raise Refused(_("The URL or the secret of this channel is gone; enter it again."))
    return encryption.decrypt_secret(bytes(sealed), f"channel:{channel.pk} {part}".encode())


def _drop_waiting(channel: Channel, reason: str) -> None:
    Delivery.objects.filter(channel=channel, state=Delivery.State.WAITING, is_test=False).update(
        state=Delivery.State.DROPPED, last_error=reason, leased_until=None
    )


def _name_taken(name: str) -> Refused:
    return Refused(_("There is already a channel called “{name}”.").format(name=name))
