"""Messages through Apprise, over real HTTP, from its confined process."""

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
from tests.dashboard.notifications.builders import AT_ONCE, tell, the_delivery, turn
from tests.dashboard.notifications.receiver import Receiver, hang, redirect_to

SECRET = "Sw0rdfish-9f8e7d"


def make_apprise(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> Channel:
    """A channel for Apprise's plain JSON; that the URL is understood has a test of its own."""
    monkeypatch.setattr(
        "dashboard.notifications.senders.apprise_sender.check_apprise_url", lambda url: None
    )
    url = f"json://robot:{SECRET}@127.0.0.1:{receiver.server_port}/{SECRET}?rto=1"
    made = channels.create_channel(name="chat", kind="apprise", url=url, by=None, wishes=AT_ONCE)
    return made.channel


@pytest.mark.django_db
def test_a_message_arrives(
    receiver: Receiver, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Title and text, and where to look."""
    make_apprise(receiver, monkeypatch)
    tell(endpoint, title="steady: <b>fell</b>", text="No mode is on.")

    turn()

    body = receiver.received[0].json()
    assert (body["title"], body["type"]) == ("steady: <b>fell</b>", "info")
    assert body["message"] == "No mode is on.\nhttps://gauge.example/endpoints/steady/"
    assert body["attachments"] == []
    assert the_delivery().state == "sent"


@pytest.mark.django_db
def test_what_is_not_granted_is_not_reached(
    receiver: Receiver, endpoint: Endpoint, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guard sits below Apprise's own clients, and the log says what to do."""
    make_apprise(receiver, monkeypatch)
    settings.EGRESS_GRANTS = ""
    tell(endpoint)

    turn()

    delivery = the_delivery()
    assert (delivery.state, receiver.received) == ("failed", [])
    assert "EGRESS_GRANTS" in delivery.last_error


@pytest.mark.django_db
def test_trouble_is_told_without_the_secrets_of_the_url(
    receiver: Receiver,
    other: Receiver,
    endpoint: Endpoint,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Failures and redirects are reasons to try again; nothing that was typed is in row or log."""
    make_apprise(receiver, monkeypatch)
    receiver.answers = [redirect_to(f"{other.url}?{SECRET}")]
    tell(endpoint)

    turn()

    delivery = the_delivery()
    assert (delivery.state, delivery.tries, other.received) == ("waiting", 1, [])
    assert "302" in delivery.last_error
    assert SECRET not in delivery.last_error + caplog.text


@pytest.mark.django_db
def test_a_hanging_service_is_ended(
    receiver: Receiver, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Apprise gives up, or its process is ended; the delivery is tried again either way."""
    monkeypatch.setattr(deliveries, "SEND_TIMEOUT", timedelta(seconds=0.5))
    make_apprise(receiver, monkeypatch)
    receiver.answers = [hang]
    tell(endpoint)

    turn()

    delivery = the_delivery()
    assert (delivery.state, len(receiver.received)) == ("waiting", 1)
    assert delivery.last_error


@pytest.mark.django_db
def test_what_apprise_does_not_understand_cannot_be_saved() -> None:
    """A wrong token is found when it is typed, not in the night when it is needed."""
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
def test_services_that_reach_into_the_machine_are_refused(url: str) -> None:
    """No programs, files, windows or buses; one receiver, and nothing but a message for it."""
    with pytest.raises(Refused):
        channel_urls.check_channel_url("apprise", url)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:apprise")
def test_every_service_on_the_list_is_one_that_apprise_has() -> None:
    """The list names nothing that is not there, and each scheme belongs to its service."""
    for scheme, service in SERVICES.items():
        found = getattr(import_module(f"apprise.plugins.{service.module}"), service.name)
        assert scheme in [*as_list(found.protocol), *as_list(found.secure_protocol)]


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
def test_the_hint_gives_nothing_away(kind: str, url: str, hint: str) -> None:
    """Scheme and host; where the host is the token, the scheme alone."""
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
def test_a_webhook_needs_a_plain_address(url: str) -> None:
    """Only http and https, one host in its one spelling, no user and no fragment."""
    with pytest.raises(Refused):
        channel_urls.check_channel_url("webhook", url)
