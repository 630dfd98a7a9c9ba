"""The notice of a promotion request has the figures and a link to the decision."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from django.test import Client

from dashboard.models.people import Role
from dashboard.trust import rollout_requests
from tests.dashboard.notifications.builders import make_webhook, route_and_send
from tests.dashboard.notifications.receiver import Receiver
from tests.dashboard.rollouts.builders import make_ready_endpoint
from tests.factories import make_person


@pytest.mark.django_db
def test_the_link_opens_the_decision_without_deciding(
    receiver: Receiver, client: Client, static_files: Path
) -> None:
    """The link requires a login and shows the form; opening it changes nothing."""
    webhook = make_webhook(receiver.url)
    approver = make_person("bea", Role.APPROVER)
    rollout_request = rollout_requests.request_promotion(
        make_ready_endpoint().profile, by=make_person("ann", Role.OPERATOR), reason="We need it."
    )

    assert route_and_send() == 1

    (request,) = receiver.received
    body = request.verify(webhook.secret)
    data = body["data"]
    assert body["type"] == "rollout.requested"
    assert "We need it." in data["text"]
    assert data["figures"]["parse_success"]["trials"] > 0
    page = urlsplit(data["url"]).path
    assert page == f"/rollouts/{rollout_request.pk}/"
    assert client.get(page).headers["Location"] == f"/login/?next={quote(page)}"
    client.force_login(approver)
    assert 'name="reason"' in client.get(page).content.decode()
    rollout_request.refresh_from_db()
    assert rollout_request.state == "pending"
