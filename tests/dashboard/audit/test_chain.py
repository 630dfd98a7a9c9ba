"""Every manipulation of the log is detected."""

# ruff: noqa: S608 -- names of our own
from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from dashboard.audit import chain
from dashboard.audit import services as audit
from dashboard.audit.chain import BreakKind, ChainHead
from dashboard.charts import services as notes
from dashboard.core.sql import execute, fetch_row
from dashboard.models import AuditEntry, Endpoint, Note
from dashboard.models.audit import Action
from tests.dashboard.audit.builders import link_now, record_entries
from tests.factories import make_endpoint, make_person

OF = "(SELECT entry_id FROM dashboard_auditlink WHERE seq = {})"
FLIPPED = "set_byte({0}, 0, get_byte({0}, 0) # 1)"
ENTRY, LINK = "dashboard_auditentry", "dashboard_auditlink"
# Manipulations by the owner of the tables, and the breaks to detect: kind and link.
BREAKS: dict[str, tuple[list[str], list[tuple[BreakKind, int | None]]]] = {
    "one byte of a body": (
        [f"UPDATE {ENTRY} SET body = replace(body, 'three', 'thref') WHERE id = {OF.format(3)}"],
        [(BreakKind.CHANGED, 3)],
    ),
    "a moment": (
        [f"UPDATE {ENTRY} SET at_us = at_us + 1 WHERE id = {OF.format(3)}"],
        [(BreakKind.CHANGED, 3)],
    ),
    "a digest": (
        [f"UPDATE {LINK} SET digest = {FLIPPED.format('digest')} WHERE seq = 3"],
        [(BreakKind.CHANGED, 3)],
    ),
    "a digest before": (
        [f"UPDATE {LINK} SET previous = {FLIPPED.format('previous')} WHERE seq = 3"],
        [(BreakKind.CHANGED, 3)],
    ),
    "a column": (
        [
            f"ALTER TABLE {ENTRY} ALTER COLUMN actor DROP EXPRESSION",
            f"UPDATE {ENTRY} SET actor = 'mallory' WHERE id = {OF.format(3)}",
        ],
        [(BreakKind.CHANGED, 3)],
    ),
    "an entry taken out": (
        [f"DELETE FROM {ENTRY} WHERE id = {OF.format(3)}"],
        [(BreakKind.MISSING, 3)],
    ),
    "an entry taken out with its link": (
        [
            f"DELETE FROM {ENTRY} WHERE id = {OF.format(3)}",
            f"DELETE FROM {LINK} WHERE seq = 3",
        ],
        [(BreakKind.MISSING, 4)],
    ),
    "an entry taken out, and the gap closed": (
        [
            f"DELETE FROM {ENTRY} WHERE id = {OF.format(3)}",
            f"DELETE FROM {LINK} WHERE seq = 3",
            f"UPDATE {LINK} SET seq = -seq WHERE seq > 3",
            f"UPDATE {LINK} SET seq = -seq - 1 WHERE seq < 0",
        ],
        [(BreakKind.MISSING, 3), (BreakKind.CUT_OFF, 6)],
    ),
    "the first taken out": (
        [f"DELETE FROM {ENTRY} WHERE id = {OF.format(1)}", f"DELETE FROM {LINK} WHERE seq = 1"],
        [(BreakKind.MISSING, 2)],
    ),
    "two entries exchanged": (
        [
            f"UPDATE {LINK} SET entry_id = -entry_id WHERE seq IN (2, 4)",
            f"UPDATE {LINK} a SET entry_id = -(SELECT min(b.entry_id) + max(b.entry_id)"
            f" FROM {LINK} b WHERE b.entry_id < 0) + a.entry_id WHERE seq IN (2, 4)",
        ],
        [(BreakKind.REORDERED, 2), (BreakKind.REORDERED, 4)],
    ),
    "two links exchanged": (
        [
            f"UPDATE {LINK} SET seq = -seq WHERE seq IN (3, 4)",
            f"UPDATE {LINK} SET seq = 7 + seq WHERE seq < 0",
        ],
        [(BreakKind.REORDERED, 3), (BreakKind.REORDERED, 4), (BreakKind.REORDERED, 5)],
    ),
    "the bodies of two exchanged": (
        [
            f"UPDATE {ENTRY} a SET body = b.body FROM {ENTRY} b"
            f" WHERE a.id IN ({OF.format(2)}, {OF.format(4)})"
            f" AND b.id IN ({OF.format(2)}, {OF.format(4)}) AND a.id <> b.id"
        ],
        [(BreakKind.CHANGED, 2), (BreakKind.CHANGED, 4)],
    ),
    "an entry slipped in": (
        [
            f"ALTER TABLE {ENTRY} DISABLE TRIGGER audit_turn",
            f"INSERT INTO {ENTRY} (body)"
            """ VALUES ('{"action": "a", "actor": {"name": "mallory"}}')""",
        ],
        [(BreakKind.UNLINKED, None)],
    ),
    "the end cut off": (
        [f"DELETE FROM {ENTRY} WHERE id = {OF.format(6)}", f"DELETE FROM {LINK} WHERE seq = 6"],
        [(BreakKind.CUT_OFF, 6)],
    ),
    "all cut off": (
        [f"DELETE FROM {ENTRY}", f"DELETE FROM {LINK}"],
        [(BreakKind.CUT_OFF, 1)],
    ),
}


@pytest.fixture
def six(db: None) -> ChainHead:
    """Six entries in the chain, and the head of it."""
    record_entries("one", "two", "three", "four", "five", "six")
    link_now()
    return chain.read_head()


def find_breaks(expect: ChainHead | None = None) -> list[tuple[BreakKind, int | None]]:
    verdict = chain.verify_chain(expect=expect, batch=4)
    assert verdict.is_good != bool(verdict.breaks)
    return [(chain_break.kind, chain_break.seq) for chain_break in verdict.breaks]


def test_every_break_is_found_and_named(six: ChainHead) -> None:
    """Each change by an owner who disabled the triggers is reported with kind and position."""
    assert find_breaks(six) == []
    for table in (ENTRY, LINK):
        execute(f"ALTER TABLE {table} DISABLE TRIGGER audit_no_change")

    for name, (statements, breaks) in BREAKS.items():
        mark = transaction.savepoint()
        for statement in statements:
            assert execute(statement) != 0, name
        assert find_breaks(six) == breaks, name
        if all(kind is BreakKind.CUT_OFF for kind, _ in breaks):
            # The rest of the chain is valid in itself: only a stored head reveals the cut.
            assert find_breaks() == [], name
        transaction.savepoint_rollback(mark)


def test_a_chain_written_anew_is_found_by_its_head(six: ChainHead) -> None:
    """An owner can write a new valid chain, but it does not lead to the stored head."""
    for table in (ENTRY, LINK):
        execute(f"ALTER TABLE {table} DISABLE TRIGGER audit_no_truncate")
    execute(f"TRUNCATE {ENTRY}, {LINK}")
    record_entries("one", "two", "three", "four", "five", "six", "seven")
    link_now()

    assert find_breaks() == []
    assert find_breaks(six) == [(BreakKind.CHANGED, 6)]


def test_of_many_breaks_the_first_are_told_and_the_head_is_right(six: ChainHead) -> None:
    """Of a log that is broken everywhere, twenty breaks are reported."""
    record_entries(*(f"more {number}" for number in range(30)))
    link_now()
    execute(f"ALTER TABLE {ENTRY} DISABLE TRIGGER audit_no_change")
    execute(f"UPDATE {ENTRY} SET at_us = at_us + 1")

    verdict = chain.verify_chain()

    assert (len(verdict.breaks), verdict.more) == (chain.MAX_BREAKS, True)
    assert (verdict.head, verdict.links) == (chain.read_head(), 36)


def test_heads_are_read_as_they_are_printed(six: ChainHead) -> None:
    """A printed head can be parsed again; other texts are refused."""
    assert chain.parse_head(f" {six}\n") == six
    assert chain.parse_head("0:") == ChainHead()
    for text in ("", "6", "6:", "0:" + "0" * 64, f"x{six}", str(six)[:-1], f"{six}0"):
        with pytest.raises(ValueError, match="is no head"):
            chain.parse_head(text)


@pytest.mark.django_db(transaction=True)
def test_those_who_write_at_once_make_one_chain_and_wait_for_nobody_in_a_circle() -> None:
    """No deadlock, even if deferred foreign keys need rows that others have locked."""
    endpoint, other, person = make_endpoint(), make_endpoint(slug="other"), make_person("alice")
    rounds, threads = 12, 6

    def write_a_note(number: int) -> None:
        with transaction.atomic():
            audit.record(Action.DEMO_CHANGED, subject=f"note {number}")
            Note.objects.create(endpoint=other, at="2026-01-01T00:00Z", text="x", author=person)

    def hold_the_person(number: int) -> None:
        with transaction.atomic():
            User.objects.select_for_update().get(pk=person.pk)
            audit.record(Action.DEMO_CHANGED, subject=f"person {number}")

    def hold_the_endpoint(number: int) -> None:
        with transaction.atomic():
            locked = Endpoint.objects.select_for_update().get(pk=endpoint.pk)
            notes.add_note(locked, at=None, text=f"round {number}", by=None)

    def work(todo: Callable[[int], None]) -> None:
        try:
            for number in range(rounds):
                todo(number)
        finally:
            connection.close()

    jobs = (write_a_note, hold_the_person, hold_the_endpoint) * (threads // 3)
    with ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(work, job) for job in jobs]:
            future.result()

    verdict = chain.verify_chain()
    assert verdict.is_good, verdict.breaks
    assert verdict.links == AuditEntry.objects.count() == rounds * threads + 2
    assert fetch_row("SELECT count(*) FROM dashboard_auditturn") == (0,)


def give_up(subject: str) -> None:
    with transaction.atomic():
        record_entries(subject)
        transaction.set_rollback(True)


@pytest.mark.django_db(transaction=True)
def test_what_is_rolled_back_leaves_no_hole() -> None:
    """A rolled-back transaction or savepoint leaves no link in the chain."""
    give_up("whole")
    with transaction.atomic():
        record_entries("kept")
        give_up("in part")

    assert [entry.parsed_body["subject"] for entry in AuditEntry.objects.all()] == ["kept"]
    assert chain.verify_chain().links == 1
    with pytest.raises(RuntimeError):
        record_entries("outside of any transaction")
