"""Messages through Apprise, over real HTTP, from its sandboxed process."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest

from dashboard.core.errors import Refused
from dashboard.models import Channel, Endpoint
from dashboard.notifications.senders import channel_urls
from dashboard.notifications.senders.apprise_services import SERVICES
from dashboard.notifications.services import channels, deliveries
from tests.dashboard.notifications.builders import (
    NO_GROUPING,
    make_notice,
    only_delivery,
    route_and_send,
)
from tests.dashboard.notifications.receiver import Receiver, hang, redirect_to

SECRET = "Sw0rdfish-9f8e7d"


def make_apprise(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> Channel:
    """A channel for the JSON service of Apprise, without the check of its URL."""
    monkeypatch.setattr(
        "dashboard.notifications.senders.apprise_sender.check_apprise_url", lambda url: None
    )
    url = f"json://robot:{SECRET}@127.0.0.1:{receiver.server_port}/{SECRET}?rto=1"
    created = channels.create_channel(
        name="chat", kind="apprise", url=url, by=None, preferences=NO_GROUPING
    )
    return created.channel


@pytest.mark.django_db
def test_a_message_arrives(
    receiver: Receiver, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message has title, text and URL."""
    make_apprise(receiver, monkeypatch)
    make_notice(endpoint, title="steady: <b>fell</b>", text="No mode is on.")

    route_and_send()

    body = receiver.received[0].json()
    assert (body["title"], body["type"]) == ("steady: <b>fell</b>", "info")
    assert body["message"] == "No mode is on.\nhttps://gauge.example/endpoints/steady/"
    assert body["attachments"] == []
    assert only_delivery().state == "sent"


@pytest.mark.django_db
def test_an_address_without_a_grant_is_not_contacted(
    receiver: Receiver, endpoint: Endpoint, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sandbox guards Apprise's own clients, and the error says what to do."""
    make_apprise(receiver, monkeypatch)
    settings.EGRESS_GRANTS = ""
    make_notice(endpoint)

    route_and_send()

    delivery = only_delivery()
    assert (delivery.state, receiver.received) == ("failed", [])
    assert "EGRESS_GRANTS" in delivery.last_error


@pytest.mark.django_db
def test_errors_do_not_contain_the_secrets_of_the_url(
    receiver: Receiver,
    other_receiver: Receiver,
    endpoint: Endpoint,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A redirect is retried; neither row nor log contains a part of the URL."""
    make_apprise(receiver, monkeypatch)
    receiver.responses = [redirect_to(f"{other_receiver.url}?{SECRET}")]
    make_notice(endpoint)

    route_and_send()

    delivery = only_delivery()
    assert (delivery.state, delivery.tries, other_receiver.received) == ("waiting", 1, [])
    assert "302" in delivery.last_error
    assert SECRET not in delivery.last_error + caplog.text


@pytest.mark.django_db
def test_a_hanging_service_is_terminated(
    receiver: Receiver, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The delivery is retried after a timeout."""
    monkeypatch.setattr(deliveries, "SEND_TIMEOUT", timedelta(seconds=0.5))
    make_apprise(receiver, monkeypatch)
    receiver.responses = [hang]
    make_notice(endpoint)

    route_and_send()

    delivery = only_delivery()
    assert (delivery.state, len(receiver.received)) == ("waiting", 1)
    assert delivery.last_error


@pytest.mark.django_db
def test_an_invalid_apprise_url_is_refused() -> None:
    """A wrong token is refused when the channel is saved."""
    with pytest.raises(Refused, match="does not understand") as caught:
        channels.create_channel(name="chat", kind="apprise", url="slack://no-such-token", by=None)

    assert "no-such-token" not in caught.value.message
    assert not Channel.objects.exists()


@pytest.mark.parametrize(
    "url",
    [
        "syslog://",
        "rsyslog://127.0.0.1",
        "dbus://",
        "qt://",
        "kde://",
        "gnome://",
        "glib://",
        "macosx://",
        "windows://",
        "growl://127.0.0.1",
        "blink1://",
        "mqtt://127.0.0.1/topic",
        "amqp://127.0.0.1/topic",
        "irc://127.0.0.1/room",
        "file:///etc/passwd",
        "exec:///bin/true",
        "apprise://127.0.0.1/token",
        "vapid://key/subscriber",
        "fcm://project/?keyfile=/etc/passwd",
        "http://127.0.0.1/",
        "slack.example.com",
        "json://host/?template=/etc/passwd",
        "discord://a/b?Template=http://host/x",
        "mailto://user:word@example.com?pgp=yes",
        "json://host/?attach=/etc/passwd",
        "json://host/?redirect=yes",
        "json://one json://two",
        "json://host/\nx",
        "json://[::1/",
        "json://" + "x" * 2048,
        "",
    ],
    ids=lambda url: url[:40],
)
def test_services_that_access_the_host_are_refused(url: str) -> None:
    """Programs, files, windows and buses are refused, and more than one receiver."""
    with pytest.raises(Refused):
        channel_urls.check_channel_url("apprise", url)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:apprise")
def test_every_allowed_service_exists_in_apprise() -> None:
    """Every scheme belongs to its service."""
    for scheme, service in SERVICES.items():
        plugin = getattr(import_module(f"apprise.plugins.{service.module}"), service.name)
        assert scheme in [*as_list(plugin.protocol), *as_list(plugin.secure_protocol)]


def as_list(schemes: str | tuple[str, ...] | None) -> list[str]:
    return [schemes] if isinstance(schemes, str) else list(schemes or ())


@pytest.mark.parametrize(
    ("kind", "url", "hint"),
    [
        ("apprise", "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ", "slack://…"),
        ("apprise", "ntfy://a-secret-topic", "ntfy://…"),
        ("apprise", "discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js", "discord://…"),
        ("apprise", "mailtos://user:word@example.com?to=a@b.c", "mailtos://example.com"),
        ("apprise", "json://robot:word@host.example:8080/path", "json://host.example"),
        ("webhook", "https://hooks.example.com:8443/T/B/x?key=1", "https://hooks.example.com"),
    ],
)
def test_the_hint_contains_no_secret(kind: str, url: str, hint: str) -> None:
    """The hint is scheme and host, or only the scheme if the host is a token."""
    assert channel_urls.url_hint(channel_urls.check_channel_url(kind, url)) == hint


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/",
        "https://user:word@example.com/",
        "https://example.com/#part",
        "https:///path",
        "https://0x7f.1/",
        "https://2130706433/",
        "https://exa mple.com/",
        "//example.com/hook",
    ],
)
def test_a_webhook_needs_a_plain_url(url: str) -> None:
    """Only http and https with a canonical host, without user and fragment."""
    with pytest.raises(Refused):
        channel_urls.check_channel_url("webhook", url)
