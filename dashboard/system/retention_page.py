"""The retention page: limits, sizes and the next drop per table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _

from dashboard.system import retention
from dashboard.system.table_sizes import TableSize, TableSizes

# The setting of each limit, in the order of the page.
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
    """The next partition to drop; `on` is the earliest day."""

    on: date
    is_due: bool
    rows: int
    size: str


@dataclass(frozen=True, slots=True)
class LimitedStore:
    """A table with a retention limit."""

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
    """Tables without a retention limit."""

    name: str
    what: str
    rows: int
    size: str


@dataclass(frozen=True, slots=True)
class RetentionPage:
    total: str
    limited: list[LimitedStore]
    permanent: list[PermanentStore]


def build_retention_page(table_sizes: TableSizes) -> RetentionPage:
    days = retention.retention_limits()
    limited = [_limited_store(table, days[table], table_sizes) for table in VARIABLES]
    return RetentionPage(
        filesizeformat(table_sizes.database_bytes), limited, _permanent_stores(table_sizes)
    )


def _limited_store(table: str, days: int, table_sizes: TableSizes) -> LimitedStore:
    parts = [part for part in table_sizes.sizes if part.table == table]
    non_empty = [part for part in parts if part.holds_rows and part.partition]
    first = min(non_empty, key=_partition_start, default=None)
    name, what = _table_text(table)
    return LimitedStore(
        name=name,
        what=what,
        variable=VARIABLES[table],
        days=days,
        rows=sum(part.rows for part in parts),
        size=_total_size(parts),
        oldest=_partition_start(first) if first else None,
        next=_next_drop(first, days, table_sizes.today) if first else None,
    )


def _partition_start(part: TableSize) -> date:
    assert part.partition is not None
    return part.partition.start


def _next_drop(part: TableSize, days: int, today: date) -> NextDrop:
    assert part.partition is not None
    on = part.partition.end + timedelta(days=days)
    return NextDrop(on, on <= today, part.rows, _total_size([part]))


def _permanent_stores(table_sizes: TableSizes) -> list[PermanentStore]:
    listed = {*VARIABLES, *_RUNS, *_DAYS, *_PINNED}
    others = [part.table for part in table_sizes.sizes if part.table not in listed]
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
    return [_permanent_store(tables, name, what, table_sizes) for tables, name, what in kinds]


def _permanent_store(
    tables: Sequence[str], name: str, what: str, table_sizes: TableSizes
) -> PermanentStore:
    parts = [part for part in table_sizes.sizes if part.table in tables]
    return PermanentStore(name, what, sum(part.rows for part in parts), _total_size(parts))


def _total_size(parts: Sequence[TableSize]) -> str:
    return filesizeformat(sum(part.size_bytes for part in parts))


def _table_text(table: str) -> tuple[str, str]:
    """The name and description of a table."""
    texts = {
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
    return texts[table]
