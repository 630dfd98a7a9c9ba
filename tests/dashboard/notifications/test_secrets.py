"""URLs and signing secrets are encrypted and never shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test import Client

from dashboard.core.errors import Refused
from dashboard.models import Channel, Endpoint
from dashboard.notifications.services import channels
from tests.dashboard.notifications.builders import make_notice, make_webhook, route_and_send
from tests.dashboard.notifications.receiver import Receiver

pytestmark = pytest.mark.django_db
CANARY = "canary-5a17c0de"


def dump_tables() -> str:
    """Every row of every table as text."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'dashboard\\_%'"
        )
        tables = [name for (name,) in cursor.fetchall()]
        texts = []
        for table in tables:
            cursor.execute(f"SELECT t::text, encode(t::text::bytea, 'escape') FROM {table} t")  # noqa: S608
            texts += [str(row) for row in cursor.fetchall()]
    return "\n".join(texts)


def test_a_secret_is_in_no_row_log_or_page(
    receiver: Receiver,
    endpoint: Endpoint,
    client: Client,
    static_files: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Neither URL nor secret leaks when a receiver refuses and echoes the request."""
    webhook = make_webhook(f"{receiver.url}/{CANARY}?token={CANARY}")
    rotated = channels.rotate_secret(webhook.channel)
    receiver.responses = [500, lambda handler: handler.respond(400, location=f"/{CANARY}")]
    make_notice(endpoint)
    make_notice(endpoint, "decision.wanted")
    route_and_send()
    client.force_login(User.objects.create_superuser("admin"))
    paths = [
        "",
        f"{webhook.channel.pk}/",
        f"{webhook.channel.pk}/remove/",
        f"{webhook.channel.pk}/secret/",
    ]
    pages = [client.get(f"/settings/channels/{path}") for path in paths]

    assert {page.status_code for page in pages} == {200}
    exposed = dump_tables() + caplog.text
    exposed += "".join(page.content.decode() for page in pages)
    assert "http://127.0.0.1" in exposed, "the hint is shown"
    for secret in (CANARY, webhook.secret[6:], rotated.secret[6:]):
        assert secret not in exposed
        assert secret.encode().hex() not in exposed


def test_a_ciphertext_decrypts_only_in_its_place(receiver: Receiver) -> None:
    """A ciphertext in another row or column cannot be decrypted."""
    one = make_webhook(receiver.url, name="one").channel
    two = make_webhook(receiver.url, name="two").channel

    Channel.objects.filter(pk=two.pk).update(sealed_url=one.sealed_url)
    with pytest.raises(Refused, match="does not open"):
        channels.channel_url(Channel.objects.get(pk=two.pk))
    Channel.objects.filter(pk=one.pk).update(sealed_url=one.sealed_secret)
    with pytest.raises(Refused, match="does not open"):
        channels.channel_url(Channel.objects.get(pk=one.pk))


def test_a_channel_that_cannot_be_decrypted_fails_clearly(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    """The delivery says what to do, and other channels are not affected."""
    broken = make_webhook(receiver.url, name="broken").channel
    make_webhook(receiver.url, name="whole")
    Channel.objects.filter(pk=broken.pk).update(sealed_url=b"\x01gibberish-that-is-long-enough")
    make_notice(endpoint)

    assert route_and_send() == 2

    assert len(receiver.received) == 1
    assert "enter" in broken.deliveries.get().last_error
    assert broken.deliveries.get().state == "failed"


def test_without_keys_nothing_is_stored(receiver: Receiver, settings: Any) -> None:
    """Without an encryption key no channel can be created."""
    settings.CREDENTIAL_KEYS = []

    with pytest.raises(ImproperlyConfigured):
        make_webhook(receiver.url)

    assert not Channel.objects.exists()


def test_a_removed_channel_keeps_no_secret(receiver: Receiver) -> None:
    """Its URL and secret are deleted, and its name is free again."""
    channel = make_webhook(receiver.url).channel

    channels.remove_channel(channel)

    channel.refresh_from_db()
    assert (bytes(channel.sealed_url), channel.sealed_secret) == (b"", None)
    make_webhook(receiver.url, name=channel.name)


def test_secrets_have_the_standard_form_and_names_are_unique(receiver: Receiver) -> None:
    """A secret has 256 random bits in the form of Standard Webhooks."""
    webhook = make_webhook(receiver.url)
    rotated = channels.rotate_secret(webhook.channel)

    for secret in (webhook.secret, rotated.secret):
        assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", secret)
    assert webhook.secret != rotated.secret
    with pytest.raises(Refused, match="already"):
        make_webhook(receiver.url)
