"""Batches that arrive at the same time, at a real web process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

from django.db import connection
from django.utils import timezone

from dashboard.people.services import tokens
from tests.dashboard.api.web_process import Site
from tests.factories import make_endpoint


def test_a_batch_that_comes_many_times_at_once_is_stored_once(
    site: Site, transactional_db: None
) -> None:
    """A client repeats the batch while the first request is running; it is stored once."""
    make_endpoint()
    text = tokens.issue_token(name="a gateway", scopes=["telemetry"], by=None).text
    event = {"endpoint": "steady", "at": timezone.now().isoformat(), "verdicts": {"leak": True}}
    batch = {"batch_id": str(uuid4()), "events": [event] * 2000}

    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda _: site.request(text, "POST", "/telemetry", batch), range(8))
        )

    assert sorted(answer["duplicate"] for answer in answers) == [False] + [True] * 7
    assert {answer["accepted"] for answer in answers} == {2000}
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM dashboard_observation")
        assert cursor.fetchone() == (2000,)
