"""What the retention page shows: what is kept how long, what it takes up, what goes next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _

from dashboard.system import retention
from dashboard.system.table_sizes import TableSize, TableSizes

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
class NextDrop:
    """The next partition to go: on that day at the earliest, and what goes with it."""

    on: date
    is_due: bool
    rows: int
    size: str


@dataclass(frozen=True, slots=True)
class LimitedStore:
    """A store whose old rows are dropped."""

    name: str
    what: str
    variable: str
    days: int
    rows: int
    size: str
    oldest: date | None  # the first day of the oldest partition that holds rows
    next: NextDrop | None


@dataclass(frozen=True, slots=True)
class PermanentStore:
    """A store that nothing is dropped from."""

    name: str
    what: str
    rows: int
    size: str


@dataclass(frozen=True, slots=True)
class RetentionPage:
    total: str
    limited: list[LimitedStore]
    lasting: list[PermanentStore]


def build_retention_page(stored: TableSizes) -> RetentionPage:
    days = retention.retention_limits()
    limited = [_limited_store(table, days[table], stored) for table in VARIABLES]
    return RetentionPage(filesizeformat(stored.database_bytes), limited, _permanent_stores(stored))


def _limited_store(table: str, days: int, stored: TableSizes) -> LimitedStore:
    pieces = [piece for piece in stored.pieces if piece.table == table]
    holding = [piece for piece in pieces if piece.holds_rows and piece.partition]
    first = min(holding, key=_partition_start, default=None)
    name, what = _table_text(table)
    return LimitedStore(
        name=name,
        what=what,
        variable=VARIABLES[table],
        days=days,
        rows=sum(piece.rows for piece in pieces),
        size=_total_size(pieces),
        oldest=_partition_start(first) if first else None,
        next=_next_drop(first, days, stored.today) if first else None,
    )


def _partition_start(piece: TableSize) -> date:
    assert piece.partition is not None
    return piece.partition.start


def _next_drop(piece: TableSize, days: int, today: date) -> NextDrop:
    assert piece.partition is not None
    on = piece.partition.end + timedelta(days=days)
    return NextDrop(on, on <= today, piece.rows, _total_size([piece]))


def _permanent_stores(stored: TableSizes) -> list[PermanentStore]:
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
    return [_permanent_store(tables, name, what, stored) for tables, name, what in kinds]


def _permanent_store(
    tables: Sequence[str], name: str, what: str, stored: TableSizes
) -> PermanentStore:
    pieces = [piece for piece in stored.pieces if piece.table in tables]
    return PermanentStore(name, what, sum(piece.rows for piece in pieces), _total_size(pieces))


def _total_size(pieces: Sequence[TableSize]) -> str:
    return filesizeformat(sum(piece.size_bytes for piece in pieces))


def _table_text(table: str) -> tuple[str, str]:
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
