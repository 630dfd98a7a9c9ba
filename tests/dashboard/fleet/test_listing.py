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


def slugs(client: Client, **asked: str) -> list[str]:
    """The rows of the page, from the top down."""
    text = client.get("/", asked).content.decode()
    return re.findall(r'class="row-link"[^>]*>([^<]+)<', text)


@pytest.fixture
def three(db: None) -> None:
    """One that fails, one that does well, one that was never probed."""
    bad = make_endpoint(slug="a-bad", provider="qwen", model="coder-30b", tags=["eu", "batch"])
    make_finished_run(bad, passed=0, failed=5, at=timezone.now() - timedelta(hours=1))
    good = make_endpoint(slug="b-good", base_url="http://10.1.2.3:8000/v1", tags=["eu"])
    make_finished_run(good)
    make_endpoint(slug="c-new", provider="anthropic", base_url="http://127.0.0.1:9")
    Profile.objects.filter(endpoint=good).update(stage="full")


@pytest.mark.parametrize(
    ("asked", "found"),
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
def test_search_and_filters_leave_what_fits(
    signed_in: Client, three: None, asked: dict[str, str], found: list[str]
) -> None:
    """Every word must be in the name, model, provider, a tag or the address; filters add up."""
    assert slugs(signed_in, **asked) == found


@pytest.mark.parametrize(
    ("sort", "found"),
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
def test_every_order_has_what_is_unknown_last(
    signed_in: Client, three: None, sort: str, found: list[str]
) -> None:
    """The worst value comes first, the best with a minus; without data an endpoint is last."""
    assert slugs(signed_in, sort=sort) == found


def test_a_metric_that_should_be_low_is_sorted_by_the_worst(signed_in: Client, three: None) -> None:
    """High is bad for schema failures, so the highest comes first."""
    for slug, failures in (("a-bad", 1), ("b-good", 4)):
        profile = Endpoint.objects.get(slug=slug).profile
        run = profile.runs.get()
        counts = {"trials": 5, "failures": failures, "finished_at": run.finished_at}
        RunMetric.objects.create(run=run, profile=profile, metric="schema_failure", **counts)

    assert slugs(signed_in, sort="schema_failure") == ["b-good", "a-bad", "c-new"]


def test_counts_are_links_that_filter(signed_in: Client, three: None) -> None:
    """Each count keeps the rest of the address; the one that is on leads back."""
    page = signed_in.get("/", {"q": "a", "status": "failing"})

    assert_contains(page, '<a class="count" href="?q=a" aria-current="true"><b>1</b>')
    assert_contains(page, '<a class="count" href="?q=a&amp;status=waiting"><b>1</b>')
    assert_contains(page, '<a class="count none" href="?q=a&amp;status=degraded"><b>0</b>')
    assert_contains(page, 'href="?q=a&amp;status=failing&amp;stage=shadow"><b>1</b>')


@pytest.mark.parametrize(
    ("group", "heads"),
    [
        ("provider", ["qwen", "anthropic", "openai"]),
        ("model", ["coder-30b", "m-1"]),
        ("tag", ["batch", "eu", "without a tag"]),
        ("stage", ["shadow", "full"]),
    ],
)
def test_groups_come_worst_first_with_their_state(
    signed_in: Client, three: None, group: str, heads: list[str]
) -> None:
    """A group is as bad as the worst of its members; an endpoint is in the group of each tag."""
    text = signed_in.get("/", {"group": group}).content.decode()

    assert re.findall(r'class="group-name"[^>]*>([^<]+)<', text) == heads
    first = re.search(r'class="group-head".*?</tr>', text, re.DOTALL)
    assert first is not None
    assert '<span class="status failing">' in first[0]


def test_a_group_says_how_many_it_has_of_each(signed_in: Client, three: None) -> None:
    """The tag's head counts both of its members, and leads to them."""
    page = signed_in.get("/", {"group": "tag"})

    assert_contains(page, "<span>1 failing</span><span>1 healthy</span>")
    assert_contains(page, 'class="group-name" href="?tag=eu"')


def test_a_large_group_shows_its_first_rows(signed_in: Client) -> None:
    """All groups fit on the page; the rest of one is a link away."""
    for number in range(6):
        make_endpoint(slug=f"e-{number}")

    page = signed_in.get("/", {"group": "provider"})

    assert_contains(page, 'class="row-link"', count=3)
    assert_contains(page, "3 of 6 shown: show all")


def test_a_long_list_has_pages(signed_in: Client) -> None:
    """Next and previous keep the rest of the address; a page too far is the last one."""
    plain = {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "m"}
    made = Endpoint.objects.bulk_create(Endpoint(slug=f"e-{i:03}", **plain) for i in range(90))
    Profile.objects.bulk_create(Profile(endpoint=e, epoch=1, key_hash=b"") for e in made)

    first = signed_in.get("/", {"q": "e-"})
    last = signed_in.get("/", {"q": "e-", "page": "99"})

    assert_contains(first, "1–25 of 90 endpoints")
    assert_contains(first, 'href="?q=e-&amp;page=2" rel="next"')
    assert_contains(last, "76–90 of 90 endpoints")
    assert_contains(last, 'href="?q=e-&amp;page=3" rel="prev"')


def test_nothing_that_fits_leads_back(signed_in: Client, three: None) -> None:
    """An empty list says why and how to get out of it."""
    page = signed_in.get("/", {"q": "zzz"})

    assert_contains(page, "No endpoint fits")
    assert_contains(page, 'href="/">Show all endpoints')


@pytest.mark.parametrize(
    ("asked", "note"),
    [
        ({"status": "sleepy"}, "There is no status “sleepy”"),
        ({"provider": "x" * 500}, "There is no provider “xxx"),
        ({"stage": "moon"}, "There is no stage “moon”"),
        ({"group": "colour"}, "There is no group “colour”"),
        ({"sort": "--name"}, "Nothing can be sorted by “--name”"),
        ({"page": "-1"}, "There is no page “-1”"),
    ],
)
def test_what_makes_no_sense_is_told_and_left_out(
    signed_in: Client, three: None, asked: dict[str, str], note: str
) -> None:
    """A wrong value in the address shows everything, with a note."""
    page = signed_in.get("/", asked)

    assert_contains(page, note)
    assert_contains(page, 'class="row-link"', count=3)


@pytest.mark.parametrize("name", ["q", "status", "provider", "model", "tag", "sort", "page"])
def test_hostile_values_are_inert(signed_in: Client, three: None, name: str) -> None:
    """What an address carries never becomes markup, NUL and bidi included."""
    page = signed_in.get("/", {name: HOSTILE + "\0"})

    assert_not_contains(page, "<script>alert")


def test_the_part_comes_without_the_page(signed_in: Client, three: None) -> None:
    """A search by htmx gets the list alone, and an address without what is empty."""
    part = signed_in.get("/", {"q": "bad", "status": ""}, headers={"HX-Target": "fleet"})

    assert_contains(part, '<section id="fleet"')
    assert_not_contains(part, "<html")
    assert part.headers["HX-Push-Url"] == "/?q=bad"
    assert "HX-Target" in part.headers["Vary"]
