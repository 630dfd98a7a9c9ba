"""The pages of channels."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.asserts import assertRedirects

from dashboard.models import Channel, Delivery, Endpoint
from dashboard.models.people import Role
from dashboard.notifications.services import deliveries
from tests.dashboard.notifications.builders import (
    make_notice,
    make_webhook,
    only_delivery,
    route_and_send,
)
from tests.dashboard.notifications.receiver import Receiver
from tests.factories import make_person
from tests.markup import assert_contains, assert_not_contains

FORM = {
    "name": "ops",
    "kind": "webhook",
    "url": "https://hooks.example.com/T0KEN",
    "kinds": ["incident.opened"],
    "min_severity": "2",
    "quiet_from": "22:00",
    "quiet_until": "06:30",
    "time_zone": "Europe/Vienna",
    "remind_every": "6h",
    "group_for": "2m",
    "enabled": "on",
}


@pytest.fixture(autouse=True)
def _static_files(static_files: Path) -> None:
    """Pages link to static files by their hash."""


@pytest.fixture
def administrator(db: None, client: Client) -> Client:
    client.force_login(User.objects.create_superuser("admin"))
    return client


def test_a_new_webhook_shows_its_secret_once(administrator: Client) -> None:
    """Only the response to the form contains it; no page contains the token of the URL."""
    response = administrator.post("/settings/channels/new/", FORM)

    (secret,) = re.findall(r"whsec_[A-Za-z0-9+/]{43}=", response.content.decode())
    assert "no-store" in response.headers["Cache-Control"]
    channel = Channel.objects.get()
    assert (channel.name, channel.kinds, channel.min_severity) == ("ops", ["incident.opened"], 2)
    for path in ("", f"{channel.pk}/"):
        page = administrator.get(f"/settings/channels/{path}")
        assert_contains(page, "https://hooks.example.com")
        assert_not_contains(page, secret)
        assert_not_contains(page, "T0KEN")


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"name": ""}, "This field is required"),
        ({"url": ""}, "This field is required"),
        ({"url": "https://10.0.0.1/"}, "EGRESS_GRANTS"),
        ({"url": "nonsense"}, "begins with https://"),
        ({"kinds": ["test"]}, "not one of the available choices"),
        ({"min_severity": "4"}, "not one of the available choices"),
        ({"quiet_until": ""}, "Quiet hours have a beginning and another end"),
        ({"time_zone": "Mars/Olympus"}, "There is no time zone"),
        ({"remind_every": "1m"}, "Between 5m and 30d"),
        ({"remind_every": "often"}, "a number and a unit"),
        ({"group_for": "2h"}, "Between 0s and 1h"),
    ],
    ids=str,
)
def test_an_invalid_form_saves_nothing(
    administrator: Client, over: dict[str, Any], message: str
) -> None:
    """The error is shown without the typed URL."""
    page = administrator.post("/settings/channels/new/", {**FORM, **over})

    assert_contains(page, message)
    assert_not_contains(page, "T0KEN")
    assert not Channel.objects.exists()


def test_editing_keeps_the_url_unless_another_is_typed(
    administrator: Client, receiver: Receiver, endpoint: Endpoint
) -> None:
    """An empty field keeps the stored URL."""
    channel = make_webhook(receiver.url).channel
    url = f"/settings/channels/{channel.pk}/"
    form = {**FORM, "url": "", "group_for": "0s", "kinds": [], "min_severity": "1"}
    form |= {"quiet_from": "", "quiet_until": ""}

    assertRedirects(administrator.post(url, form), "/settings/channels/")
    make_notice(endpoint)
    route_and_send()
    assertRedirects(administrator.post(url, {**form, "url": FORM["url"]}), "/settings/channels/")

    assert len(receiver.received) == 1
    assert Channel.objects.get().hint == "https://hooks.example.com"


def test_the_test_button_shows_the_result(administrator: Client, receiver: Receiver) -> None:
    """The part polls until the result is known."""
    channel = make_webhook(receiver.url, kinds=["mode.changed"], enabled=False).channel
    make_webhook(receiver.url, name="another")

    part = administrator.post(f"/settings/channels/{channel.pk}/test/", headers={"HX-Request": "1"})
    assert_contains(part, "every 1s")
    assert_not_contains(part, "<html")
    route_and_send()

    delivery = only_delivery()
    (request,) = receiver.received
    assert (request.json()["type"], request.json()["data"]["title"]) == ("test", "Test of ops")
    part = administrator.get(f"/settings/deliveries/{delivery.pk}/")
    assert_contains(part, "It arrived (200)")
    assert_not_contains(part, "every 1s")


def test_a_failed_test_shows_the_reason(administrator: Client, receiver: Receiver) -> None:
    """The log offers a retry."""
    channel = make_webhook(receiver.url).channel
    receiver.responses = [404]
    assertRedirects(
        administrator.post(f"/settings/channels/{channel.pk}/test/"), "/settings/channels/"
    )
    route_and_send()

    delivery = only_delivery()
    assert_contains(administrator.get(f"/settings/deliveries/{delivery.pk}/"), "answered 404")
    assert_contains(administrator.get("/settings/deliveries/"), "Try again</button>")
    assertRedirects(
        administrator.post(f"/settings/deliveries/{delivery.pk}/retry/"), "/settings/channels/"
    )
    deliveries.send_due_deliveries()

    assert only_delivery().state == "sent"
    assert_not_contains(administrator.get("/settings/deliveries/"), "Try again</button>")


def test_a_new_secret_requires_confirmation(administrator: Client, receiver: Receiver) -> None:
    """Only the POST creates and shows one."""
    channel = make_webhook(receiver.url).channel
    url = f"/settings/channels/{channel.pk}/secret/"

    assert_not_contains(administrator.get(url), "whsec_")
    assert_contains(administrator.post(url), "whsec_")


def test_removing_requires_confirmation(administrator: Client, receiver: Receiver) -> None:
    """Only the POST of the confirmation removes the channel."""
    channel = make_webhook(receiver.url).channel
    url = f"/settings/channels/{channel.pk}/remove/"

    assert_contains(administrator.get(url), "Remove ops?")
    assertRedirects(administrator.post(url), "/settings/channels/")

    assert_not_contains(administrator.get("/settings/channels/"), "Test</button>")
    assert administrator.get(url).status_code == 404


def test_the_log_is_escaped_and_needs_few_queries(
    administrator: Client,
    receiver: Receiver,
    endpoint: Endpoint,
    django_assert_max_num_queries: Any,
) -> None:
    """Notices are escaped, and a long log needs no more queries."""
    make_webhook(receiver.url, name="<script>alert(1)</script>")
    for number in range(30):
        make_notice(endpoint, "mode.changed", title=f"<img src=x onerror=alert({number})>")
        route_and_send()

    with django_assert_max_num_queries(9):
        page = administrator.get("/settings/channels/")

    assert Delivery.objects.count() == 30
    assert_not_contains(page, "<img src=x")
    assert_not_contains(page, "<script>alert")
    assert_contains(page, "&lt;img src=x onerror=alert(29)&gt;")


def test_only_administrators_see_the_pages(client: Client, receiver: Receiver, db: None) -> None:
    """Other users can neither see nor change channels."""
    channel = make_webhook(receiver.url).channel
    channel_url = f"/settings/channels/{channel.pk}/"
    readable = [
        "/settings/channels/",
        "/settings/channels/new/",
        channel_url,
        f"{channel_url}remove/",
    ]
    readable += [f"{channel_url}secret/", "/settings/deliveries/", "/settings/deliveries/1/"]
    actions = [
        "/settings/channels/new/",
        channel_url,
        f"{channel_url}remove/",
        f"{channel_url}secret/",
        f"{channel_url}test/",
    ]
    actions += ["/settings/deliveries/1/retry/"]
    assert {client.get(path).status_code for path in readable} == {302}
    client.force_login(make_person("alice", Role.OPERATOR))

    assert {client.get(path).status_code for path in readable} == {403}
    assert {client.post(path, FORM).status_code for path in actions} == {403}
    assert Channel.objects.kept().count() == 1
