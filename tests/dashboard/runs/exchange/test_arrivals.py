from __future__ import annotations

from django.test import Client

from dashboard.runs.exchange.chunk_timeline import build_chunk_page, build_timeline
from probes.http_messages import Chunk
from tests.dashboard.runs.exchange.builders import an_exchange, evidence, in_chunks
from tests.factories import make_attempt, make_endpoint, make_finished_run
from tests.markup import assert_contains, assert_not_contains


def test_a_silence_is_seen() -> None:
    """The picture says how long the longest silence was and where."""
    found = build_timeline([Chunk(10, b"a" * 100), Chunk(20, b"b"), Chunk(1000, b"c")])

    assert found is not None
    assert (found.count, found.first_ms, found.last_ms) == (3, 10, 1000)
    assert (found.gap_ms, found.gap_after) == (980, 2)
    assert [bar.x for bar in found.bars] == [0, 5, 595]
    assert max(bar.height for bar in found.bars) == 40


def test_one_chunk_is_no_time_line() -> None:
    """An answer that came at once has nothing to show."""
    assert build_timeline([Chunk(10, b"all")]) is None


def test_five_thousand_chunks_are_a_bounded_picture_and_pages() -> None:
    """However many there are, a page has a hundred rows and the picture as many bars as fit."""
    chunks = [Chunk(number, b"x" * 3) for number in range(5000)]

    found, last = build_timeline(chunks), build_chunk_page(chunks, 999)

    assert found is not None
    assert len(found.bars) <= 120
    assert (len(last.rows), last.number, last.pages) == (100, 50, 50)
    assert (last.rows[-1].number, last.rows[-1].gap_ms, last.rows[-1].total) == (5000, 1, 15000)


def test_chunks_are_read_page_by_page(signed_in: Client) -> None:
    """As a page of their own, and as a part that htmx puts into the evidence."""
    run = make_finished_run(make_endpoint())
    reply = in_chunks([f"<b>{number}</b>\u202e" for number in range(250)])
    make_attempt(run, evidence=evidence(an_exchange(reply=reply)))
    path = f"/runs/{run.pk}/attempts/format/1/1/chunks/"

    whole = signed_in.get(path)
    part = signed_in.get(f"{path}?page=3", headers={"HX-Request": "true"})

    assert_contains(whole, "The reply came in 250 chunks")
    assert_contains(whole, "&lt;b&gt;0&lt;/b&gt;⟦U+202E⟧")
    assert_not_contains(part, "<html")
    assert_contains(part, "page 3 of 3")
    assert_contains(part, "<tr><td", count=50)
    for odd in ("0", "-1", "x", "٣", "9" * 400):
        assert signed_in.get(f"{path}?page={odd}").status_code == 200
