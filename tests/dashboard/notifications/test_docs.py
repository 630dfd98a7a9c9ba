"""The examples of docs/notifications.md work."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from dashboard.models import Endpoint, Notice
from probes.egress_rules import parse_grants
from tests.dashboard.notifications.builders import (
    make_due,
    make_notice,
    make_webhook,
    route_and_send,
)
from tests.dashboard.notifications.receiver import Receiver

DOCS = Path(__file__).resolve().parents[3] / "docs" / "notifications.md"


def code_blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", DOCS.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.django_db
def test_the_documented_receiver_works(
    receiver: Receiver, endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    """It accepts a signed message once and refuses others."""
    (source,) = code_blocks("python")
    names: dict[str, Any] = {}
    exec(source, names)  # noqa: S102 -- our own example
    receive = names["receive"]
    webhook = make_webhook(receiver.url)
    receiver.responses = [500]
    make_notice(endpoint, title="fell")
    route_and_send()
    make_due()
    route_and_send()

    first, again = receiver.received
    assert receive(first.body + b" ", first.headers, webhook.secret) == 401
    assert receive(first.body, first.headers, webhook.secret) == 200
    assert receive(again.body, again.headers, webhook.secret) == 200
    assert capsys.readouterr().out == "incident.opened fell\n"


@pytest.mark.django_db
def test_the_documented_body_is_the_sent_one(receiver: Receiver, endpoint: Endpoint) -> None:
    """The keys have the same order."""
    (documented,) = code_blocks("json")
    make_webhook(receiver.url)
    make_notice(endpoint)
    route_and_send()

    (request,) = receiver.received
    expected, sent = json.loads(documented), request.json()
    assert list(sent) == list(expected)
    assert list(sent["data"]) == list(expected["data"])


def test_every_kind_is_documented() -> None:
    """A new kind needs a row in the table."""
    text = DOCS.read_text()

    assert [kind for kind in Notice.Kind.values if f"| `{kind}` |" not in text] == []


def test_the_documented_grants_are_valid() -> None:
    """The example can be copied as it is."""
    (line,) = re.findall(r"^EGRESS_GRANTS=(.*)$", DOCS.read_text(), re.MULTILINE)

    assert len(parse_grants(line)) == 3
