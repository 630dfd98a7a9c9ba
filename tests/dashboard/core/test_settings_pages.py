"""The overview of settings, and the retention page."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from dashboard.core import partitions
from dashboard.core.navigation import SETTINGS_GROUPS, settings_tabs
from dashboard.core.permissions import RIGHTS, Actor
from dashboard.models.people import Role
from dashboard.system import retention, retention_page, table_sizes
from dashboard.system.table_sizes import TableSize, TableSizes
from tests.factories import make_attempt, make_endpoint, make_person, make_run
from tests.markup import assert_contains, assert_not_contains

ENV_EXAMPLE = Path(__file__).resolve().parents[3] / ".env.example"
TODAY = date(2026, 11, 16)


@pytest.mark.django_db
def test_every_settings_page_is_listed_for_an_administrator(client: Client) -> None:
    """The overview links to each page, and each page opens."""
    client.force_login(User.objects.create_superuser("root"))
    overview = client.get("/settings/")

    for page in (page for group in SETTINGS_GROUPS for page in group.pages):
        assert_contains(overview, f'href="{reverse(page.url_name)}"')
        assert client.get(reverse(page.url_name)).status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize("roles", [(), *((role,) for role in Role)])
def test_everybody_is_shown_what_they_may_open_and_nothing_else(
    client: Client, roles: tuple[Role, ...]
) -> None:
    """No link leads to a refusal, and every page that would open is linked."""
    client.force_login(make_person("zoe", *roles))
    overview = client.get("/settings/")

    for page in (page for group in SETTINGS_GROUPS for page in group.pages):
        address = reverse(page.url_name)
        if client.get(address).status_code == 200:
            assert_contains(overview, f'href="{address}"')
        else:
            assert_not_contains(overview, f'href="{address}"')


@pytest.mark.parametrize("address", ["/settings/", "/settings/retention/"])
def test_settings_need_a_person(client: Client, address: str) -> None:
    """Anonymous visitors are redirected to the sign-in."""
    assert client.get(address).headers["Location"].startswith("/login/")


def test_retention_tells_limits_and_where_they_are_set(signed_in: Client, settings: Any) -> None:
    """The figures are the worker's settings, with their names from .env.example."""
    settings.KEEP_EVIDENCE_DAYS = 77
    make_attempt(make_run(make_endpoint()), evidence={"exchanges": []})

    page = signed_in.get("/settings/retention/")

    assert_contains(page, "77 days")
    assert_contains(page, "The limits come from the environment")
    for variable in retention_page.VARIABLES.values():
        assert_contains(page, variable)
        assert f"\n{variable}=" in ENV_EXAMPLE.read_text()


def test_every_store_that_has_a_limit_is_on_the_page() -> None:
    """Every setting of a limit has an entry on the page."""
    assert retention_page.VARIABLES.keys() == retention.retention_limits().keys()


def test_the_next_drop_is_the_oldest_partition_when_all_of_it_is_too_old(settings: Any) -> None:
    """The page names the day and the freed size; empty partitions do not count."""
    settings.KEEP_RAW_DAYS = 14
    days = [(date(2026, 11, 1), False), (date(2026, 11, 3), True), (date(2026, 11, 15), True)]
    pieces = [_day(day, holds_rows=holds) for day, holds in days]

    page = retention_page.build_retention_page(TableSizes(TODAY, 10**6, tuple(pieces)))

    raw = next(store for store in page.limited if store.variable == "KEEP_RAW_DAYS")
    assert raw.oldest == date(2026, 11, 3)
    assert raw.next is not None
    assert (raw.next.on, raw.next.is_due, raw.next.rows) == (date(2026, 11, 18), False, 50)
    assert raw.rows == 150


def test_what_is_over_its_limit_is_due_now(settings: Any) -> None:
    """An overdue drop is due now, not on a day in the past."""
    settings.KEEP_RAW_DAYS = 2

    page = retention_page.build_retention_page(
        TableSizes(TODAY, 10**6, (_day(date(2026, 11, 3), holds_rows=True),))
    )

    raw = next(store for store in page.limited if store.variable == "KEEP_RAW_DAYS")
    assert raw.next is not None
    assert raw.next.is_due


def test_an_empty_store_says_so(signed_in: Client) -> None:
    """An empty store shows neither a date nor zero days."""
    nothing = retention_page.build_retention_page(TableSizes(TODAY, 10**6, ()))

    assert {(store.oldest, store.next) for store in nothing.limited} == {(None, None)}


@pytest.mark.django_db
def test_every_table_of_ours_is_counted_once() -> None:
    """The sizes of the page add up to those of all our tables."""
    sizes = table_sizes.read_table_sizes()

    names = [piece.partition.name if piece.partition else piece.table for piece in sizes.sizes]
    assert len(names) == len(set(names))
    parents = {piece.table for piece in sizes.sizes if piece.partition}
    assert parents == {*partitions.DAILY, *partitions.MONTHLY}
    assert {"dashboard_run", "dashboard_endpoint"} <= set(names)


def test_retention_takes_the_same_queries_whatever_is_stored(signed_in: Client) -> None:
    """The number of queries does not grow with the partitions."""
    counted = []
    for days in (0, 60):
        partitions.ensure_days(partitions.database_today() - timedelta(days=n) for n in range(days))
        with CaptureQueriesContext(connection) as queries:
            signed_in.get("/settings/retention/")
        counted.append(len(queries))

    assert counted[0] == counted[1]


def _day(day: date, *, holds_rows: bool) -> TableSize:
    part = partitions.Partition("dashboard_observation", day, day + timedelta(days=1))
    return TableSize("dashboard_observation", part, 50, 8192, holds_rows)


def test_the_tabs_are_the_pages_of_the_overview(signed_in: Client) -> None:
    """One list for both: a page cannot be in one and missing in the other."""
    page = signed_in.get("/settings/retention/")

    for tab in settings_tabs(Actor(RIGHTS[Role.OPERATOR])):
        assert_contains(page, f'<a href="{reverse(tab.url_name)}"')
