from __future__ import annotations

from django.test import Client

from dashboard.runs.exchange.chunk_timeline import build_chunk_page, build_timeline
from probes.http_messages import Chunk
from tests.dashboard.runs.exchange.builders import (
    build_chunked_reply,
    build_evidence,
    build_exchange,
)
from tests.factories import make_attempt, make_endpoint, make_finished_run
from tests.markup import assert_contains, assert_not_contains


def test_the_longest_gap_is_reported() -> None:
    """The timeline has the length and the position of the longest gap."""
    timeline = build_timeline([Chunk(10, b"a" * 100), Chunk(20, b"b"), Chunk(1000, b"c")])

    assert timeline is not None
    assert (timeline.count, timeline.first_ms, timeline.last_ms) == (3, 10, 1000)
    assert (timeline.gap_ms, timeline.gap_after) == (980, 2)
    assert [bar.x for bar in timeline.bars] == [0, 5, 595]
    assert max(bar.height for bar in timeline.bars) == 40


def test_one_chunk_has_no_timeline() -> None:
    """A reply in a single chunk has no timeline."""
    assert build_timeline([Chunk(10, b"all")]) is None


def test_five_thousand_chunks_are_bounded() -> None:
    """With any number of chunks, a page has a hundred rows and the timeline 120 bars at most."""
    chunks = [Chunk(number, b"x" * 3) for number in range(5000)]

    timeline, last = build_timeline(chunks), build_chunk_page(chunks, 999)

    assert timeline is not None
    assert len(timeline.bars) <= 120
    assert (len(last.rows), last.number, last.pages) == (100, 50, 50)
    assert (last.rows[-1].number, last.rows[-1].gap_ms, last.rows[-1].total) == (5000, 1, 15000)


def test_chunks_are_paged(signed_in: Client) -> None:
    """Chunks have their own page, and a partial that htmx swaps into the evidence."""
    run = make_finished_run(make_endpoint())
    reply = build_chunked_reply([f"<b>{number}</b>\u202e" for number in range(250)])
    make_attempt(run, evidence=build_evidence(build_exchange(reply=reply)))
    path = f"/runs/{run.pk}/attempts/format/1/1/chunks/"

    whole = signed_in.get(path)
    part = signed_in.get(f"{path}?page=3", headers={"HX-Request": "true"})

    assert_contains(whole, "The reply came in 250 chunks")
    assert_contains(whole, "&lt;b&gt;0&lt;/b&gt;⟦U+202E⟧")
    assert_not_contains(part, "<html")
    assert_contains(part, "page 3 of 3")
    assert_contains(part, "<tr><td", count=50)
    for number in ("0", "-1", "x", "٣", "9" * 400):
        assert signed_in.get(f"{path}?page={number}").status_code == 200
