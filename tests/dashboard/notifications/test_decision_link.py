"""A question to people: the notice has the figures and a link, and the link decides nothing."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from django.test import Client

from dashboard.models.people import Role
from dashboard.trust import rollout_requests
from tests.dashboard.notifications.builders import make_webhook, turn
from tests.dashboard.notifications.receiver import Receiver
from tests.dashboard.rollouts.builders import ready
from tests.factories import make_person


@pytest.mark.django_db
def test_a_link_leads_to_the_decision_and_decides_nothing(
    receiver: Receiver, client: Client, static_files: Path
) -> None:
    """Whoever follows it signs in first and finds the form; opening it changes nothing."""
    made = make_webhook(receiver.url)
    approver = make_person("bea", Role.APPROVER)
    asked = rollout_requests.request_promotion(
        ready().profile, by=make_person("ann", Role.OPERATOR), reason="We need it."
    )

    assert turn() == 1

    (got,) = receiver.received
    said = got.verified(made.secret)
    told = said["data"]
    assert said["type"] == "rollout.requested"
    assert "We need it." in told["text"]
    assert told["figures"]["parse_success"]["trials"] > 0
    page = urlsplit(told["url"]).path
    assert page == f"/rollouts/{asked.pk}/"
    assert client.get(page).headers["Location"] == f"/login/?next={quote(page)}"
    client.force_login(approver)
    assert 'name="reason"' in client.get(page).content.decode()
    asked.refresh_from_db()
    assert asked.state == "pending"
