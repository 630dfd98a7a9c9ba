"""URLs and signing secrets: sealed in their place, and shown nowhere."""

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
from tests.dashboard.notifications.builders import make_webhook, tell, turn
from tests.dashboard.notifications.receiver import Receiver

pytestmark = pytest.mark.django_db
PLANTED = "canary-5a17c0de"


def everything_stored() -> str:
    """Each row of each table, as Postgres would print it."""
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


def test_a_planted_secret_is_in_no_row_log_or_page(
    receiver: Receiver,
    endpoint: Endpoint,
    client: Client,
    static_files: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A receiver that refuses, and repeats what it got, brings neither URL nor secret to light."""
    made = make_webhook(f"{receiver.url}/{PLANTED}?token={PLANTED}")
    fresh = channels.rotate_secret(made.channel)
    receiver.answers = [500, lambda handler: handler.say(400, location=f"/{PLANTED}")]
    tell(endpoint)
    tell(endpoint, "decision.wanted")
    turn()
    client.force_login(User.objects.create_superuser("admin"))
    paths = ["", f"{made.channel.pk}/", f"{made.channel.pk}/remove/", f"{made.channel.pk}/secret/"]
    pages = [client.get(f"/settings/channels/{path}") for path in paths]

    assert {page.status_code for page in pages} == {200}
    seen = everything_stored() + caplog.text
    seen += "".join(page.content.decode() for page in pages)
    assert "http://127.0.0.1" in seen, "the hint is shown"
    for secret in (PLANTED, made.secret[6:], fresh.secret[6:]):
        assert secret not in seen
        assert secret.encode().hex() not in seen


def test_a_seal_opens_only_where_it_was_made(receiver: Receiver) -> None:
    """What is copied to another row, or another column, is worth nothing."""
    one = make_webhook(receiver.url, name="one").channel
    two = make_webhook(receiver.url, name="two").channel

    Channel.objects.filter(pk=two.pk).update(sealed_url=one.sealed_url)
    with pytest.raises(Refused, match="does not open"):
        channels.channel_url(Channel.objects.get(pk=two.pk))
    Channel.objects.filter(pk=one.pk).update(sealed_url=one.sealed_secret)
    with pytest.raises(Refused, match="does not open"):
        channels.channel_url(Channel.objects.get(pk=one.pk))


def test_a_channel_that_does_not_open_fails_clearly(receiver: Receiver, endpoint: Endpoint) -> None:
    """The log says what to do, and other channels go on."""
    broken = make_webhook(receiver.url, name="broken").channel
    make_webhook(receiver.url, name="whole")
    Channel.objects.filter(pk=broken.pk).update(sealed_url=b"\x01gibberish-that-is-long-enough")
    tell(endpoint)

    assert turn() == 2

    assert len(receiver.received) == 1
    assert "enter" in broken.deliveries.get().last_error
    assert broken.deliveries.get().state == "failed"


def test_without_keys_nothing_is_stored_in_the_open(receiver: Receiver, settings: Any) -> None:
    """No key to seal with means no channel."""
    settings.CREDENTIAL_KEYS = []

    with pytest.raises(ImproperlyConfigured):
        make_webhook(receiver.url)

    assert not Channel.objects.exists()


def test_a_removed_channel_keeps_no_secret(receiver: Receiver) -> None:
    """Its name is free again, and its log stays."""
    channel = make_webhook(receiver.url).channel

    channels.remove_channel(channel)

    channel.refresh_from_db()
    assert (bytes(channel.sealed_url), channel.sealed_secret) == (b"", None)
    make_webhook(receiver.url, name=channel.name)


def test_secrets_have_their_shape_and_names_are_taken_once(receiver: Receiver) -> None:
    """256 bits in the form of Standard Webhooks, new each time."""
    made = make_webhook(receiver.url)
    fresh = channels.rotate_secret(made.channel)

    for secret in (made.secret, fresh.secret):
        assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", secret)
    assert made.secret != fresh.secret
    with pytest.raises(Refused, match="already"):
        make_webhook(receiver.url)
