"""Every list has pages without gaps or repetitions."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dashboard.charts import services as notes
from dashboard.models import Profile
from dashboard.trust import modes, tool_rules
from health.modes import Mode
from health.risk import Risk
from tests.dashboard.api.client import ApiClient
from tests.factories import make_attempt, make_endpoint, make_run


def read_all_pages(api: ApiClient, path: str, name: str, limit: int = 2) -> list[Any]:
    """All rows of a list, read in small pages."""
    rows: list[Any] = []
    query: dict[str, Any] = {"limit": limit}
    for _ in range(20):
        page = api.get(path, **query).json()
        assert len(page[name]) <= limit
        rows += page[name]
        if page["next_cursor"] is None:
            return rows
        query["cursor"] = page["next_cursor"]
    raise AssertionError("there is no last page")


def test_pages_of_every_list_join(api: ApiClient) -> None:
    """Small pages have the same rows as the whole list, in the same order."""
    endpoint = make_endpoint()
    now = timezone.now()
    for number in range(5):
        at = now - timedelta(hours=number % 3)
        notes.add_note(endpoint, at=at, text=f"note {number}", by=None)
        tool_rules.add_rule(pattern=f"a{number}", risk=Risk.READ, by=None)
        Profile.objects.create(
            endpoint=endpoint,
            epoch=number + 10,
            provider="openai",
            model=f"m-{number}",
            endpoint_url="x",
            chat_template_hash="",
            ended_at=now,
            in_force=False,
        )
    for mode in list(Mode)[:5]:
        modes.switch_on(endpoint.profile, mode, by=None, reason="so")
    run = make_run(endpoint)
    for probe, trial in [("b", 1), ("a", 2), ("a", 10), ("c", 1), ("a", 1)]:
        make_attempt(run, probe=probe, trial=trial)

    for path, name in [
        ("/endpoints/steady/notes", "notes"),
        ("/endpoints/steady/profiles", "profiles"),
        ("/endpoints/steady/modes", "modes"),
        ("/tool-rules", "rules"),
        (f"/runs/{run.pk}/attempts", "attempts"),
    ]:
        full_list = api.get(path).json()
        assert full_list["next_cursor"] is None
        assert len(full_list[name]) >= 5
        assert read_all_pages(api, path, name) == full_list[name], path


@pytest.mark.parametrize(
    "address",
    [
        "/endpoints/steady/notes?cursor=999999",
        "/runs/{run}/attempts?cursor=x",
        "/rollouts?cursor=0",
    ],
)
def test_a_cursor_of_our_making_is_wanted(api: ApiClient, address: str) -> None:
    """An invalid cursor is refused, not taken for the beginning."""
    run = make_run(make_endpoint())

    assert api.get(address.format(run=run.pk)).status_code == 422
