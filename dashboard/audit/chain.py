"""Verification of the audit log: that no entry was changed, removed, moved or cut off.

Each link holds the digest of the previous link and its own: sha256 over that digest and its entry.
All digests are recomputed here, without trust in the database. The owner of the tables could write
a whole new chain; only a head that was stored elsewhere reveals that.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from django.db import connection, transaction
from typing_extensions import override

from dashboard.core.sql import execute, fetch_row, fetch_rows

# Links per query: memory use does not grow with the log.
BATCH = 500
# If everything is broken, the first breaks are enough.
MAX_BREAKS = 20
_FAR = 2**62


class BreakKind(StrEnum):
    CHANGED = "changed"
    MISSING = "missing"
    REORDERED = "reordered"
    UNLINKED = "unlinked"
    CUT_OFF = "cut off"


@dataclass(frozen=True, slots=True)
class ChainHead:
    """A position in the chain; a copy stored elsewhere proves everything before it."""

    seq: int = 0
    digest: bytes = b""

    @override
    def __str__(self) -> str:
        return f"{self.seq}:{self.digest.hex()}"


@dataclass(frozen=True, slots=True)
class ChainBreak:
    kind: BreakKind
    what: str
    seq: int | None = None
    entry: int | None = None

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind.value, "seq": self.seq, "entry": self.entry, "what": self.what}


@dataclass(frozen=True, slots=True)
class ChainVerdict:
    """The result of a verification; `more` says that not all breaks are listed."""

    head: ChainHead
    links: int
    breaks: tuple[ChainBreak, ...]
    more: bool = False

    @property
    def is_good(self) -> bool:
        return not self.breaks

    def as_json(self) -> dict[str, Any]:
        return {
            "good": self.is_good,
            "links": self.links,
            "head": str(self.head),
            "breaks": [chain_break.as_json() for chain_break in self.breaks],
            "more": self.more,
        }


@dataclass(frozen=True, slots=True)
class _ChainLink:
    """A row of the chain with its entry, if there is one."""

    seq: int
    entry_id: int
    previous: bytes
    digest: bytes
    content: bytes | None  # digested after the previous digest
    columns: tuple[Any, ...]
    body: str

    def digest_after(self, previous: bytes) -> bytes:
        return hashlib.sha256(previous + (self.content or b"")).digest()


@dataclass(slots=True)
class _ChainWalk:
    """How far the chain was verified, and the breaks so far."""

    expected: ChainHead | None
    seq: int = 0
    links: int = 0
    # Digests that the next link may follow: two if it is not clear which one was changed.
    before: tuple[bytes, ...] = (b"",)
    last: ChainHead = field(default_factory=ChainHead)
    breaks: list[ChainBreak] = field(default_factory=list)
    changed: list[_ChainLink] = field(default_factory=list)


def parse_head(text: str) -> ChainHead:
    """Parse a head as `str` prints it; ValueError if it is none."""
    match = re.fullmatch(r"([0-9]{1,18}):((?:[0-9a-f]{64})?)", text.strip().lower())
    if match is None or (int(match[1]) > 0) != bool(match[2]):
        raise ValueError(f"{text!r} is no head such as 17:9f86d0… with 64 digits")
    return ChainHead(int(match[1]), bytes.fromhex(match[2]))


def read_head() -> ChainHead:
    """The newest link; 0 if there is none."""
    row = fetch_row("SELECT seq, digest FROM dashboard_auditlink ORDER BY seq DESC LIMIT 1")
    return ChainHead(row[0], bytes(row[1])) if row else ChainHead()


def verify_chain(*, expect: ChainHead | None = None, batch: int = BATCH) -> ChainVerdict:
    """Verify the whole chain in one snapshot, whatever is written meanwhile."""
    walk = _ChainWalk(expect)
    with transaction.atomic():
        if not connection.savepoint_ids:
            execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        for link in _read_links(batch):
            if len(walk.breaks) <= MAX_BREAKS:
                _check_link(walk, link)
            _advance_walk(walk, link)
        _find_unlinked(walk)
    _find_missing_end(walk)
    breaks = _mark_reordered(walk)
    return ChainVerdict(walk.last, walk.links, tuple(breaks[:MAX_BREAKS]), len(breaks) > MAX_BREAKS)


def _read_links(batch: int) -> Iterator[_ChainLink]:
    at = -_FAR
    while rows := fetch_rows(_LINKS, {"after": at, "most": batch}):
        at = rows[-1][0]
        for seq, entry_id, previous, digest, at_us, body, *columns in rows:
            digested = None if body is None else f"{entry_id}\n{at_us}\n{body}".encode()
            yield _ChainLink(
                seq, entry_id, bytes(previous), bytes(digest), digested, tuple(columns), body or ""
            )


def _advance_walk(walk: _ChainWalk, link: _ChainLink) -> None:
    walk.before = (link.digest, link.digest_after(link.previous))
    walk.seq, walk.links, walk.last = link.seq, walk.links + 1, ChainHead(link.seq, link.digest)


def _check_link(walk: _ChainWalk, link: _ChainLink) -> None:
    if link.seq != walk.seq + 1:
        _add_break(
            walk,
            BreakKind.MISSING,
            link,
            f"there is no link {_format_numbers(walk.seq + 1, link.seq - 1)}",
        )
    computed = link.digest_after(link.previous)
    if link.content is None:
        _add_break(walk, BreakKind.MISSING, link, f"entry {link.entry_id} is gone")
    elif computed != link.digest and link.digest_after(walk.before[0]) == link.digest:
        _add_break(walk, BreakKind.CHANGED, link, "the link holds another digest before its own")
    elif computed != link.digest:
        walk.changed.append(link)
        _add_break(walk, BreakKind.CHANGED, link, "the entry or its digest is not what was written")
    elif link.previous not in walk.before and link.seq == walk.seq + 1:
        _add_break(walk, _misplaced_kind(link), link, f"it does not follow link {walk.seq}")
    _check_columns(walk, link)
    _check_expected(walk, link)


def _misplaced_kind(link: _ChainLink) -> BreakKind:
    """For an intact link after a wrong one: whether its predecessor moved or is gone."""
    elsewhere = fetch_row(
        "SELECT 1 FROM dashboard_auditlink WHERE digest = %(it)s", {"it": link.previous}
    )
    return BreakKind.REORDERED if elsewhere or not link.previous else BreakKind.MISSING


def _check_columns(walk: _ChainWalk, link: _ChainLink) -> None:
    """The columns, which filters use, must agree with the body."""
    if link.content is None:
        return
    try:
        body = json.loads(link.body)
        expected = [body["action"], body["actor"]["name"], body.get("endpoint") or ""]
        expected += [body.get("endpoint_id"), body.get("team")]
    except (ValueError, TypeError, KeyError, AttributeError):
        expected = []
    if expected != list(link.columns):
        _add_break(walk, BreakKind.CHANGED, link, "the columns are not what the body says")


def _check_expected(walk: _ChainWalk, link: _ChainLink) -> None:
    expected = walk.expected
    if expected and expected.seq == link.seq and expected.digest != link.digest:
        _add_break(
            walk, BreakKind.CHANGED, link, "the chain was written anew: the kept digest is another"
        )


def _find_unlinked(walk: _ChainWalk) -> None:
    for (entry,) in fetch_rows(_UNLINKED, {"most": MAX_BREAKS + 1}):
        walk.breaks.append(ChainBreak(BreakKind.UNLINKED, "the entry is in no link", entry=entry))


def _find_missing_end(walk: _ChainWalk) -> None:
    expected = walk.expected
    if expected and expected.seq > walk.last.seq:
        what = (
            f"the chain ends at link {walk.last.seq}, but there was one with number {expected.seq}"
        )
        walk.breaks.append(ChainBreak(BreakKind.CUT_OFF, what, seq=walk.last.seq + 1))


def _mark_reordered(walk: _ChainWalk) -> list[ChainBreak]:
    """The breaks; links that fit each other's entries count as reordered."""
    exchanged = {
        link.seq
        for link in walk.changed
        for other in walk.changed
        if link is not other
        and hashlib.sha256(link.previous + (other.content or b"")).digest() == link.digest
    }
    what = "it holds the entry of another link"
    return [
        ChainBreak(BreakKind.REORDERED, what, chain_break.seq, chain_break.entry)
        if chain_break.seq in exchanged
        else chain_break
        for chain_break in walk.breaks
    ]


def _add_break(walk: _ChainWalk, kind: BreakKind, link: _ChainLink, what: str) -> None:
    walk.breaks.append(ChainBreak(kind, what, link.seq, link.entry_id))


def _format_numbers(first: int, last: int) -> str:
    return f"{first}" if first >= last else f"{first} to {last}"


_LINKS = """
SELECT l.seq, l.entry_id, l.previous, l.digest, e.at_us, e.body,
    e.action, e.actor, e.endpoint, e.endpoint_id, e.team
FROM dashboard_auditlink l LEFT JOIN dashboard_auditentry e ON e.id = l.entry_id
WHERE l.seq > %(after)s ORDER BY l.seq LIMIT %(most)s
"""
_UNLINKED = """
SELECT e.id FROM dashboard_auditentry e
WHERE NOT EXISTS (SELECT FROM dashboard_auditlink l WHERE l.entry_id = e.id)
ORDER BY e.id LIMIT %(most)s
"""
