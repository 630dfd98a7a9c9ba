"""What docs/notifications.md promises."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from dashboard.models import Endpoint, Notice
from probes.egress_rules import parse_grants
from tests.dashboard.notifications.builders import make_due, make_webhook, tell, turn
from tests.dashboard.notifications.receiver import Receiver

DOCS = Path(__file__).resolve().parents[3] / "docs" / "notifications.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", DOCS.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.django_db
def test_the_receiver_in_the_docs_receives(
    receiver: Receiver, endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    """Copied as it stands, it takes what is ours once, and refuses the rest."""
    (source,) = blocks("python")
    names: dict[str, Any] = {}
    exec(source, names)  # noqa: S102 -- our own example
    receive = names["receive"]
    made = make_webhook(receiver.url)
    receiver.answers = [500]
    tell(endpoint, title="fell")
    turn()
    make_due()
    turn()

    first, again = receiver.received
    assert receive(first.body + b" ", first.headers, made.secret) == 401
    assert receive(first.body, first.headers, made.secret) == 200
    assert receive(again.body, again.headers, made.secret) == 200
    assert capsys.readouterr().out == "incident.opened fell\n"


@pytest.mark.django_db
def test_the_body_in_the_docs_is_the_one_that_is_sent(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    """The same names in the same order."""
    (documented,) = blocks("json")
    make_webhook(receiver.url)
    tell(endpoint)
    turn()

    (got,) = receiver.received
    expected, sent = json.loads(documented), got.json()
    assert list(sent) == list(expected)
    assert list(sent["data"]) == list(expected["data"])


def test_every_kind_is_described() -> None:
    """A kind that is added needs a line in the table."""
    text = DOCS.read_text()

    assert [kind for kind in Notice.Kind.values if f"| `{kind}` |" not in text] == []


def test_the_grants_in_the_docs_are_grants() -> None:
    """The example can be copied."""
    (line,) = re.findall(r"^EGRESS_GRANTS=(.*)$", DOCS.read_text(), re.MULTILINE)

    assert len(parse_grants(line)) == 3
