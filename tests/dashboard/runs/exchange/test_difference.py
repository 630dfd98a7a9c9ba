from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from dashboard.endpoints.services import endpoints
from dashboard.models import Endpoint
from dashboard.runs import last_passing
from dashboard.runs.exchange import normalise
from dashboard.runs.exchange.text_diff import diff_texts
from dashboard.runs.last_passing import MatchKind
from tests.dashboard.runs.exchange.builders import a_reply, an_exchange, evidence
from tests.factories import make_attempt, make_endpoint, make_finished_run
from tests.markup import assert_contains, assert_not_contains


def _texts(left: str, right: str) -> list[tuple[str, str, str]]:
    return [
        (
            row.kind,
            "".join(f"[{p.text}]" if p.mark else p.text for p in row.left.pieces)
            if row.left
            else "",
            "".join(f"[{p.text}]" if p.mark else p.text for p in row.right.pieces)
            if row.right
            else "",
        )
        for row in diff_texts(left, right).rows
    ]


def test_what_differs_inside_a_line_is_marked() -> None:
    """Lines stand beside each other, and only the words that differ stand out."""
    assert _texts('{\n"tag": "beta",\n"n": 1\n}', '{\n"tag": "gamma",\n}') == [
        ("equal", "{", "{"),
        ("changed", '"tag": "[beta]",', '"tag": "[gamma]",'),
        ("removed", '"n": 1', ""),
        ("equal", "}", "}"),
    ]


def test_equal_lines_far_from_a_change_are_folded() -> None:
    """A long text shows its changes and how much is the same between them."""
    lines = [str(number) for number in range(100)]

    found = diff_texts("\n".join(lines), "\n".join([*lines[:-1], "other"]))

    assert [row.kind for row in found.rows] == ["folded", *["equal"] * 3, "changed"]
    assert found.rows[0].folded == 96


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("x" * 3_000_000, "y" * 3_000_000),
        ("a\nb\n" * 100_000, "b\na\n" * 100_000),
        ("a b " * 900 + "\n" + "a\n" * 1400, "b a " * 900 + "\n" + "b\n" * 1400),
    ],
)
def test_giants_are_cut_and_say_so(left: str, right: str) -> None:
    """However long the texts are, the rows are few, and the page says that it is not all."""
    found = diff_texts(left, right)

    assert found.is_truncated
    assert len(found.rows) <= 800
    assert sum(len(p.text) for row in found.rows if row.left for p in row.left.pieces) < 1_000_000


def test_what_was_drawn_is_replaced_by_its_name() -> None:
    """Two runs ask with other values; side by side they read alike."""
    sides = []
    for seed in (1, 2):
        values = normalise.read_drawn_values(
            "round_trip", 1, seed=seed, suite_version="tool-probe-v1"
        )
        nonce = next(text for text, name in values.items() if name == "‹nonce›")
        sides.append(
            normalise.normalise_text(f'{{"id": "chatcmpl-{seed}", "nonce": "{nonce}"}}', values)
        )

    assert sides[0] == sides[1] == '{"id": "‹id›", "nonce": "‹nonce›"}'


def test_the_choices_of_a_schema_are_left_alone() -> None:
    """Which of two words was drawn does not make two equal schemas differ."""
    text = '{"tag": "alpha", "schema": {"enum": ["alpha", "beta"]}}'

    said = normalise.normalise_text(text, {"alpha": "‹tag›"})

    assert said == '{"tag": "‹tag›", "schema": {"enum": ["alpha", "beta"]}}'


def test_nothing_is_replaced_for_another_suite() -> None:
    """A changed suite draws other values, so none of them is known."""
    assert normalise.read_drawn_values("round_trip", 1, seed=1, suite_version="tool-probe-v0") == {}


def test_the_last_good_one_is_the_newest_of_the_same_profile(db: None) -> None:
    """Not a later one, not a failed one, not of another endpoint, not of another probe."""
    endpoint, other = make_endpoint(), make_endpoint(slug="other")
    old, good, bad = (make_finished_run(endpoint) for _ in range(3))
    for run in (old, good):
        make_attempt(run)
    make_attempt(bad, outcome="fail")
    make_attempt(make_finished_run(other))
    make_attempt(make_finished_run(endpoint), probe="round_trip")
    this = make_finished_run(endpoint)
    failed = make_attempt(this, outcome="fail")
    make_attempt(make_finished_run(endpoint))

    found = last_passing.find_last_passing(failed, this)

    assert found is not None
    assert (found.run.pk, found.kind) == (good.pk, MatchKind.SAME_PROFILE)


def test_an_earlier_profile_stands_in_and_is_named(db: None) -> None:
    """A new profile that never passed is compared with what was good before the change."""
    endpoint = make_endpoint()
    make_attempt(make_finished_run(endpoint))
    _change_the_key(endpoint)
    this = make_finished_run(endpoint)

    found = last_passing.find_last_passing(make_attempt(this, outcome="fail"), this)

    assert found is not None
    assert found.kind is MatchKind.EARLIER_PROFILE


def test_another_attempt_of_the_run_stands_in_last(db: None) -> None:
    """Where no earlier run passed, a sibling that did is better than nothing."""
    this = make_finished_run(make_endpoint())
    make_attempt(this, trial=2)

    found = last_passing.find_last_passing(make_attempt(this, outcome="fail"), this)

    assert found is not None
    assert found.kind is MatchKind.SAME_RUN


def test_the_page_shows_both_sides(signed_in: Client) -> None:
    """Calls, reply and request of both, with what differs marked and where it came from."""
    endpoint = make_endpoint()
    good, this = make_finished_run(endpoint), make_finished_run(endpoint)
    make_attempt(good, evidence=evidence(an_exchange(reply=a_reply({"content": "was fine"}))))
    make_attempt(
        this,
        outcome="fail",
        evidence=evidence(an_exchange(reply=a_reply({"content": "was <b>odd</b>"}, id="c-2"))),
    )

    page = signed_in.get(f"/runs/{this.pk}/attempts/format/1/difference/")

    assert_contains(page, "the newest earlier pass of the same profile")
    assert_contains(page, "<del>fine</del>")
    assert_contains(page, "&lt;")
    assert_not_contains(page, "<b>odd")
    assert_contains(page, "1 line differs")
    raw = signed_in.get(f"/runs/{this.pk}/attempts/format/1/difference/?as=raw")
    assert_contains(raw, "2 lines differ")
    assert_contains(raw, "<del>chatcmpl")


def test_a_probe_that_never_passed_says_so(signed_in: Client) -> None:
    """There is a way on even where there is nothing to compare with."""
    run = make_finished_run(make_endpoint())
    make_attempt(run, outcome="fail")

    page = signed_in.get(f"/runs/{run.pk}/attempts/format/1/difference/")

    assert_contains(page, "This probe has never passed here")
    assert_contains(page, f'href="/runs/{run.pk}/"')


def test_evidence_that_is_gone_is_named(signed_in: Client) -> None:
    """Rows outlive their evidence; then the page says which side is missing."""
    endpoint = make_endpoint()
    make_attempt(make_finished_run(endpoint))
    this = make_finished_run(endpoint)
    make_attempt(this, outcome="fail", evidence=evidence(an_exchange()))

    page = signed_in.get(f"/runs/{this.pk}/attempts/format/1/difference/")

    assert_contains(page, "The evidence of the good attempt is no longer stored")


def _change_the_key(endpoint: Endpoint) -> None:
    fields: dict[str, Any] = {
        "base_url": endpoint.base_url,
        "model": "m-2",
        "provider": endpoint.provider,
        "options": {},
        "ttl": timedelta(hours=6),
        "max_concurrency": 2,
        "enabled": True,
    }
    endpoints.update(endpoint, key=None, forget_key=False, **fields)
    endpoint.refresh_from_db()
