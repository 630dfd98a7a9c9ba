"""What the retention page shows: what is kept how long, what it takes up, what goes next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _

from dashboard.system import retention
from dashboard.system.table_sizes import Piece, Stored

# The setting that each limit comes from, in the order of the page.
VARIABLES = {
    "dashboard_evidence": "KEEP_EVIDENCE_DAYS",
    "dashboard_attempt": "KEEP_ATTEMPTS_DAYS",
    "dashboard_observation": "KEEP_RAW_DAYS",
    "dashboard_rollup5m": "KEEP_5M_DAYS",
    "dashboard_rolluphour": "KEEP_HOURS_DAYS",
}
_RUNS = ("dashboard_run", "dashboard_runmetric")
_DAYS = ("dashboard_rollupday",)
_PINNED = ("dashboard_pinnedevidence",)


@dataclass(frozen=True, slots=True)
class Drop:
    """The next partition to go: on that day at the earliest, and what goes with it."""

    on: date
    is_due: bool
    rows: int
    size: str


@dataclass(frozen=True, slots=True)
class Limited:
    """A store whose old rows are dropped."""

    name: str
    what: str
    variable: str
    days: int
    rows: int
    size: str
    oldest: date | None  # the first day of the oldest partition that holds rows
    next: Drop | None


@dataclass(frozen=True, slots=True)
class Lasting:
    """A store that nothing is dropped from."""

    name: str
    what: str
    rows: int
    size: str


@dataclass(frozen=True, slots=True)
class RetentionPage:
    total: str
    limited: list[Limited]
    lasting: list[Lasting]


def of(stored: Stored) -> RetentionPage:
    days = retention.limits()
    limited = [_limited(table, days[table], stored) for table in VARIABLES]
    return RetentionPage(filesizeformat(stored.database_bytes), limited, _lasting(stored))


def _limited(table: str, days: int, stored: Stored) -> Limited:
    pieces = [piece for piece in stored.pieces if piece.table == table]
    holding = [piece for piece in pieces if piece.holds_rows and piece.partition]
    first = min(holding, key=_begins, default=None)
    name, what = _words(table)
    return Limited(
        name=name,
        what=what,
        variable=VARIABLES[table],
        days=days,
        rows=sum(piece.rows for piece in pieces),
        size=_size(pieces),
        oldest=_begins(first) if first else None,
        next=_drop(first, days, stored.today) if first else None,
    )


def _begins(piece: Piece) -> date:
    assert piece.partition is not None
    return piece.partition.start


def _drop(piece: Piece, days: int, today: date) -> Drop:
    assert piece.partition is not None
    on = piece.partition.end + timedelta(days=days)
    return Drop(on, on <= today, piece.rows, _size([piece]))


def _lasting(stored: Stored) -> list[Lasting]:
    named = {*VARIABLES, *_RUNS, *_DAYS, *_PINNED}
    others = [piece.table for piece in stored.pieces if piece.table not in named]
    kinds: list[tuple[Sequence[str], str, str]] = [
        (_RUNS, _("Runs"), _("Every run with its figures, which charts and incidents refer to.")),
        (_DAYS, _("Daily figures"), _("Counts by day, from which a year's chart is drawn.")),
        (
            _PINNED,
            _("Pinned evidence"),
            _("What belongs to an incident stays when the rest of its month is dropped."),
        ),
        (
            others,
            _("Everything else"),
            _("Endpoints, profiles, incidents, modes, notices, settings and bookkeeping."),
        ),
    ]
    return [_lasting_of(tables, name, what, stored) for tables, name, what in kinds]


def _lasting_of(tables: Sequence[str], name: str, what: str, stored: Stored) -> Lasting:
    pieces = [piece for piece in stored.pieces if piece.table in tables]
    return Lasting(name, what, sum(piece.rows for piece in pieces), _size(pieces))


def _size(pieces: Sequence[Piece]) -> str:
    return filesizeformat(sum(piece.size_bytes for piece in pieces))


def _words(table: str) -> tuple[str, str]:
    """What a person calls the table, and what is in it."""
    words = {
        "dashboard_evidence": (_("Evidence"), _("Requests and replies behind attempts, redacted.")),
        "dashboard_attempt": (_("Attempts"), _("Each try of a probe: outcome, findings, latency.")),
        "dashboard_observation": (
            _("Observations"),
            _("Single trials of a metric, before they are counted."),
        ),
        "dashboard_rollup5m": (
            _("Figures of 5 minutes"),
            _("Counts for charts of the last hours."),
        ),
        "dashboard_rolluphour": (_("Hourly figures"), _("Counts for charts of days and weeks.")),
    }
    return words[table]
