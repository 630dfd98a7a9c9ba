from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.models import Endpoint, Profile, RunMetric
from tests.factories import make_endpoint, make_finished_run
from tests.markup import assert_contains, assert_not_contains

HOSTILE = '"><script>alert(1)</script>\u202e'


def listed_slugs(client: Client, **query: str) -> list[str]:
    """The endpoints of the page, from the top down."""
    text = client.get("/", query).content.decode()
    return re.findall(r'class="row-link"[^>]*>([^<]+)<', text)


@pytest.fixture
def three_endpoints(db: None) -> None:
    """A failing endpoint, a healthy one and one that was never probed."""
    bad = make_endpoint(slug="a-bad", provider="qwen", model="coder-30b", tags=["eu", "batch"])
    make_finished_run(bad, passed=0, failed=5, at=timezone.now() - timedelta(hours=1))
    good = make_endpoint(slug="b-good", base_url="http://10.1.2.3:8000/v1", tags=["eu"])
    make_finished_run(good)
    make_endpoint(slug="c-new", provider="anthropic", base_url="http://127.0.0.1:9")
    Profile.objects.filter(endpoint=good).update(stage="full")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"q": "BAD"}, ["a-bad"]),
        ({"q": "coder"}, ["a-bad"]),
        ({"q": "anthr"}, ["c-new"]),
        ({"q": "batch"}, ["a-bad"]),
        ({"q": "10.1.2.3"}, ["b-good"]),
        ({"q": "eu good"}, ["b-good"]),
        ({"status": "failing"}, ["a-bad"]),
        ({"status": "waiting"}, ["c-new"]),
        ({"provider": "qwen"}, ["a-bad"]),
        ({"model": "m-1"}, ["c-new", "b-good"]),
        ({"tag": "eu"}, ["a-bad", "b-good"]),
        ({"tag": "-"}, ["c-new"]),
        ({"stage": "full"}, ["b-good"]),
        ({"stage": "shadow", "q": "new"}, ["c-new"]),
    ],
)
def test_search_and_filters_narrow_the_list(
    signed_in: Client, three_endpoints: None, query: dict[str, str], expected: list[str]
) -> None:
    """Every word must match name, model, provider, tag or URL; filters are combined."""
    assert listed_slugs(signed_in, **query) == expected


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("status", ["a-bad", "c-new", "b-good"]),
        ("-status", ["b-good", "c-new", "a-bad"]),
        ("name", ["a-bad", "b-good", "c-new"]),
        ("-name", ["c-new", "b-good", "a-bad"]),
        ("parse_success", ["a-bad", "b-good", "c-new"]),
        ("-parse_success", ["b-good", "a-bad", "c-new"]),
        ("last", ["b-good", "a-bad", "c-new"]),
        ("-last", ["a-bad", "b-good", "c-new"]),
    ],
)
def test_every_order_has_endpoints_without_data_last(
    signed_in: Client, three_endpoints: None, sort: str, expected: list[str]
) -> None:
    """The worst value comes first, with a minus the best."""
    assert listed_slugs(signed_in, sort=sort) == expected


def test_a_metric_where_low_is_good_is_sorted_by_the_worst(
    signed_in: Client, three_endpoints: None
) -> None:
    """For schema failures the highest rate comes first."""
    for slug, failures in (("a-bad", 1), ("b-good", 4)):
        profile = Endpoint.objects.get(slug=slug).profile
        run = profile.runs.get()
        counts = {"trials": 5, "failures": failures, "finished_at": run.finished_at}
        RunMetric.objects.create(run=run, profile=profile, metric="schema_failure", **counts)

    assert listed_slugs(signed_in, sort="schema_failure") == ["b-good", "a-bad", "c-new"]


def test_counts_are_links_that_filter(signed_in: Client, three_endpoints: None) -> None:
    """Each link keeps the other filters; the active one removes its filter."""
    page = signed_in.get("/", {"q": "a", "status": "failing"})

    assert_contains(page, '<a class="count" href="?q=a" aria-current="true"><b>1</b>')
    assert_contains(page, '<a class="count" href="?q=a&amp;status=waiting"><b>1</b>')
    assert_contains(page, '<a class="count none" href="?q=a&amp;status=degraded"><b>0</b>')
    assert_contains(page, 'href="?q=a&amp;status=failing&amp;stage=shadow"><b>1</b>')


@pytest.mark.parametrize(
    ("group", "names"),
    [
        ("provider", ["qwen", "anthropic", "openai"]),
        ("model", ["coder-30b", "m-1"]),
        ("tag", ["batch", "eu", "without a tag"]),
        ("stage", ["shadow", "full"]),
    ],
)
def test_groups_come_worst_first_with_their_status(
    signed_in: Client, three_endpoints: None, group: str, names: list[str]
) -> None:
    """A group has the status of its worst member; an endpoint is in the group of each tag."""
    text = signed_in.get("/", {"group": group}).content.decode()

    assert re.findall(r'class="group-name"[^>]*>([^<]+)<', text) == names
    first = re.search(r'class="group-head".*?</tr>', text, re.DOTALL)
    assert first is not None
    assert '<span class="status failing">' in first[0]


def test_a_group_counts_its_members_by_status(signed_in: Client, three_endpoints: None) -> None:
    """The heading of a tag counts its members and links to them."""
    page = signed_in.get("/", {"group": "tag"})

    assert_contains(page, "<span>1 failing</span><span>1 healthy</span>")
    assert_contains(page, 'class="group-name" href="?tag=eu"')


def test_a_large_group_shows_its_first_rows(signed_in: Client) -> None:
    """A link shows the others."""
    for number in range(6):
        make_endpoint(slug=f"e-{number}")

    page = signed_in.get("/", {"group": "provider"})

    assert_contains(page, 'class="row-link"', count=3)
    assert_contains(page, "3 of 6 shown: show all")


def test_a_long_list_has_pages(signed_in: Client) -> None:
    """Links to other pages keep the filters; a number beyond the last page is the last page."""
    plain = {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "m"}
    endpoints = Endpoint.objects.bulk_create(Endpoint(slug=f"e-{i:03}", **plain) for i in range(90))
    Profile.objects.bulk_create(Profile(endpoint=e, epoch=1, key_hash=b"") for e in endpoints)

    first = signed_in.get("/", {"q": "e-"})
    last = signed_in.get("/", {"q": "e-", "page": "99"})

    assert_contains(first, "1–25 of 90 endpoints")
    assert_contains(first, 'href="?q=e-&amp;page=2" rel="next"')
    assert_contains(last, "76–90 of 90 endpoints")
    assert_contains(last, 'href="?q=e-&amp;page=3" rel="prev"')


def test_an_empty_result_links_to_all_endpoints(signed_in: Client, three_endpoints: None) -> None:
    """An empty list says that no endpoint matches."""
    page = signed_in.get("/", {"q": "zzz"})

    assert_contains(page, "No endpoint fits")
    assert_contains(page, 'href="/">Show all endpoints')


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ({"status": "sleepy"}, "There is no status “sleepy”"),
        ({"provider": "x" * 500}, "There is no provider “xxx"),
        ({"stage": "moon"}, "There is no stage “moon”"),
        ({"group": "colour"}, "There is no group “colour”"),
        ({"sort": "--name"}, "Nothing can be sorted by “--name”"),
        ({"page": "-1"}, "There is no page “-1”"),
    ],
)
def test_invalid_values_are_ignored_with_a_note(
    signed_in: Client, three_endpoints: None, query: dict[str, str], note: str
) -> None:
    """An invalid value in the query string does not filter."""
    page = signed_in.get("/", query)

    assert_contains(page, note)
    assert_contains(page, 'class="row-link"', count=3)


@pytest.mark.parametrize("name", ["q", "status", "provider", "model", "tag", "sort", "page"])
def test_hostile_values_are_escaped(signed_in: Client, three_endpoints: None, name: str) -> None:
    """Values of the query string never become markup, NUL and bidi included."""
    page = signed_in.get("/", {name: HOSTILE + "\0"})

    assert_not_contains(page, "<script>alert")


def test_htmx_gets_the_list_without_the_page(signed_in: Client, three_endpoints: None) -> None:
    """The pushed URL has no empty parameters."""
    part = signed_in.get("/", {"q": "bad", "status": ""}, headers={"HX-Target": "fleet"})

    assert_contains(part, '<section id="fleet"')
    assert_not_contains(part, "<html")
    assert part.headers["HX-Push-Url"] == "/?q=bad"
    assert "HX-Target" in part.headers["Vary"]
