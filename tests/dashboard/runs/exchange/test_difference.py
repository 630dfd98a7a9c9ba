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
from tests.dashboard.runs.exchange.builders import build_evidence, build_exchange, build_reply
from tests.factories import make_attempt, make_endpoint, make_finished_run
from tests.markup import assert_contains, assert_not_contains


def _diff_rows(left: str, right: str) -> list[tuple[str, str, str]]:
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


def test_differing_words_of_a_line_are_marked() -> None:
    """Lines are paired, and only the differing words are marked."""
    assert _diff_rows('{\n"tag": "beta",\n"n": 1\n}', '{\n"tag": "gamma",\n}') == [
        ("equal", "{", "{"),
        ("changed", '"tag": "[beta]",', '"tag": "[gamma]",'),
        ("removed", '"n": 1', ""),
        ("equal", "}", "}"),
    ]


def test_equal_lines_far_from_a_change_are_folded() -> None:
    """A long text shows its changes, and the number of equal lines between them."""
    lines = [str(number) for number in range(100)]

    diff = diff_texts("\n".join(lines), "\n".join([*lines[:-1], "other"]))

    assert [row.kind for row in diff.rows] == ["folded", *["equal"] * 3, "changed"]
    assert diff.rows[0].folded == 96


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("x" * 3_000_000, "y" * 3_000_000),
        ("a\nb\n" * 100_000, "b\na\n" * 100_000),
        ("a b " * 900 + "\n" + "a\n" * 1400, "b a " * 900 + "\n" + "b\n" * 1400),
    ],
)
def test_huge_texts_are_truncated(left: str, right: str) -> None:
    """A diff of huge texts has few rows and is marked as truncated."""
    diff = diff_texts(left, right)

    assert diff.is_truncated
    assert len(diff.rows) <= 800
    assert sum(len(p.text) for row in diff.rows if row.left for p in row.left.pieces) < 1_000_000


def test_drawn_values_are_replaced_by_their_names() -> None:
    """Texts of two runs that differ only in drawn values become equal."""
    sides = []
    for seed in (1, 2):
        values = normalise.read_drawn_values(
            "round_trip", 1, seed=seed, suite_version="tool-probe-v2"
        )
        nonce = next(text for text, name in values.items() if name == "‹nonce›")
        sides.append(
            normalise.normalise_text(f'{{"id": "chatcmpl-{seed}", "nonce": "{nonce}"}}', values)
        )

    assert sides[0] == sides[1] == '{"id": "‹id›", "nonce": "‹nonce›"}'


def test_the_choices_of_a_schema_are_not_replaced() -> None:
    """A drawn value is not replaced in the enum of a schema."""
    text = '{"tag": "alpha", "schema": {"enum": ["alpha", "beta"]}}'

    normalised = normalise.normalise_text(text, {"alpha": "‹tag›"})

    assert normalised == '{"tag": "‹tag›", "schema": {"enum": ["alpha", "beta"]}}'


def test_nothing_is_replaced_for_another_suite_version() -> None:
    """Another suite version draws other values, so none of them is known."""
    assert normalise.read_drawn_values("round_trip", 1, seed=1, suite_version="tool-probe-v0") == {}


def test_the_last_passing_attempt_is_the_newest_of_the_same_profile(db: None) -> None:
    """Later and failed attempts, other endpoints and other probes are ignored."""
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

    passing = last_passing.find_last_passing(failed, this)

    assert passing is not None
    assert (passing.run.pk, passing.kind) == (good.pk, MatchKind.SAME_PROFILE)


def test_an_earlier_profile_is_the_first_fallback(db: None) -> None:
    """A profile that never passed is compared with a pass of an earlier profile."""
    endpoint = make_endpoint()
    make_attempt(make_finished_run(endpoint))
    _change_profile_key(endpoint)
    this = make_finished_run(endpoint)

    passing = last_passing.find_last_passing(make_attempt(this, outcome="fail"), this)

    assert passing is not None
    assert passing.kind is MatchKind.EARLIER_PROFILE


def test_another_attempt_of_the_run_is_the_last_fallback(db: None) -> None:
    """If no earlier run passed, a passing attempt of the same run is used."""
    this = make_finished_run(make_endpoint())
    make_attempt(this, trial=2)

    passing = last_passing.find_last_passing(make_attempt(this, outcome="fail"), this)

    assert passing is not None
    assert passing.kind is MatchKind.SAME_RUN


def test_the_page_shows_both_sides(signed_in: Client) -> None:
    """The page shows calls, reply and request of both attempts with the differences marked."""
    endpoint = make_endpoint()
    good, this = make_finished_run(endpoint), make_finished_run(endpoint)
    make_attempt(
        good, evidence=build_evidence(build_exchange(reply=build_reply({"content": "was fine"})))
    )
    make_attempt(
        this,
        outcome="fail",
        evidence=build_evidence(
            build_exchange(reply=build_reply({"content": "was <b>odd</b>"}, id="c-2"))
        ),
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
    """Without a passing attempt the page says so and links to the run."""
    run = make_finished_run(make_endpoint())
    make_attempt(run, outcome="fail")

    page = signed_in.get(f"/runs/{run.pk}/attempts/format/1/difference/")

    assert_contains(page, "This probe has never passed here")
    assert_contains(page, f'href="/runs/{run.pk}/"')


def test_missing_evidence_is_reported(signed_in: Client) -> None:
    """If the evidence of one side has expired, the page says which."""
    endpoint = make_endpoint()
    make_attempt(make_finished_run(endpoint))
    this = make_finished_run(endpoint)
    make_attempt(this, outcome="fail", evidence=build_evidence(build_exchange()))

    page = signed_in.get(f"/runs/{this.pk}/attempts/format/1/difference/")

    assert_contains(page, "The evidence of the good attempt is no longer stored")


def _change_profile_key(endpoint: Endpoint) -> None:
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
