"""Checks of the database and its data."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.db import Error
from django.template.defaultfilters import filesizeformat

from dashboard.core import partitions
from dashboard.core.database_errors import find_write_problem
from dashboard.core.durations import format_rough_duration
from dashboard.core.sql import fetch_row
from dashboard.runs import rollups
from dashboard.system import readiness, retention
from dashboard.system.doctor.check import Check, bad, count_noun, ok, warn

MIN_POSTGRES = 14
MAX_SKEW = timedelta(seconds=5)
LOW_FREE_BYTES = 2 * 1024**3
# Retention runs hourly, so a partition can exist a while beyond its limit.
RETENTION_GRACE = timedelta(days=1)


def database() -> Check:
    """Postgres responds and is new enough. If not, no other check can run."""
    try:
        row = fetch_row("SHOW server_version")
    except Error as exc:
        reason = " ".join(str(exc).split())
        return bad(
            "database",
            f"Postgres does not answer: {reason}",
            "Start it, or set DATABASE_URL as the product has it.",
        )
    assert row is not None
    version = str(row[0]).split()[0]
    if int(version.split(".")[0]) < MIN_POSTGRES:
        return bad(
            "database",
            f"Postgres {version} is too old.",
            f"Upgrade to Postgres {MIN_POSTGRES} or newer.",
        )
    return ok("database", f"Postgres {version} answers.")


def migrations() -> Check:
    if problems := readiness.migration_problems():
        return bad("migrations", " ".join(problems), "Run: python manage.py migrate.")
    return ok("migrations", "All are applied.")


def clock() -> Check:
    """Decisions use the clock of the database; evidence and logs that of this machine."""
    before = datetime.now(UTC)
    row = fetch_row("SELECT clock_timestamp()")
    after = datetime.now(UTC)
    assert row is not None
    skew = abs(row[0] - (before + (after - before) / 2)) - (after - before) / 2
    if skew > MAX_SKEW:
        return warn(
            "clock",
            f"The database's clock and this machine's differ by {format_rough_duration(skew)}.",
            "Let both machines set their clocks by NTP.",
        )
    return ok("clock", "The database's clock and this machine's agree.")


def recount() -> Check:
    """Recount the observations of yesterday and compare them with the rollups."""
    day = partitions.database_today() - timedelta(days=1)
    try:
        diffs = rollups.recount_day(day)
    except ValueError:
        return ok("recount", f"The observations of {day} are not kept any more.")
    if diffs:
        first = diffs[0]
        return bad(
            "recount",
            f"{count_noun(len(diffs), 'rollup')} of {day} not what the observations add up to; "
            f"the first is {first.level} {first.bucket:%H:%M} of profile {first.profile_id}: "
            f"{first.stored} stored, {first.counted} counted.",
            "Keep the database as it is and report this: it should be impossible.",
        )
    return ok("recount", f"The rollups of {day} are what the observations add up to.")


def retained() -> Check:
    """Find partitions that retention should have dropped."""
    today = partitions.database_today()
    late = [
        part.name
        for parent, days in retention.retention_limits().items()
        for part in partitions.existing_partitions(parent)
        if part.end <= today - timedelta(days=days) - RETENTION_GRACE
    ]
    if late:
        return warn(
            "retention",
            f"{count_noun(len(late), 'partition')} older than the limit: {', '.join(late[:5])}.",
            "A worker drops them once an hour: see its log for what keeps it from that.",
        )
    return ok("retention", "Nothing is kept beyond its limit.")


def room() -> Check:
    """The size of the database and the free space on the disk of the data folder."""
    row = fetch_row("SELECT pg_database_size(current_database())")
    assert row is not None
    size = f"The database takes {filesizeformat(row[0])}"
    folder, free = readiness.read_free_bytes()
    text = f"{size}; {filesizeformat(free)} free on the disk of {folder}."
    advice = "Free space, or keep less: see the KEEP_ settings."
    if free < readiness.MIN_FREE_BYTES:
        return bad("room", f"{text} Nothing can be stored.", advice)
    return warn("room", text, advice) if free < LOW_FREE_BYTES else ok("room", text)


def writes() -> Check:
    """The database takes writes, and has space for them on its own disk."""
    if problem := find_write_problem():
        sentence, _, advice = problem.partition(". ")
        return bad("writes", f"{sentence}.", advice)
    return ok("writes", "The database can write.")
