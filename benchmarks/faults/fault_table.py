"""What a fault command prints and how it ends."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from tests.faults.invariants import Check, violations
from tests.faults.recording_vendor import Vendor
from tests.faults.row_watch import Watch
from tests.faults.servers import Servers
from tests.faults.stack import Stack, eventually, open_stack


class Missing(Exception):
    """Something must be installed or allowed first; the message says what."""


def program(name: str, package: str) -> Path:
    """Where a program is, or what to install."""
    # Distributions keep servers out of the paths of normal users.
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    if found is None:
        raise Missing(f"{name} is needed: apt install {package}")
    return Path(found)


@contextmanager
def scratch(servers: Servers, vendor: Vendor) -> Iterator[Stack]:
    """A stack whose logs go away with it."""
    with (
        tempfile.TemporaryDirectory(prefix="toolgauge-faults-") as folder,
        open_stack(servers, vendor, Path(folder)) as stack,
    ):
        yield stack


class Report:
    """Lines on the terminal, and whether all of them were good."""

    def __init__(self) -> None:
        self.is_good = True

    def say(self, line: str) -> None:
        print(line, flush=True)

    def check(self, claim: str, found: object) -> None:
        """A promise, and what was found against it: nothing, if it holds."""
        self.say(f"  {'FAILED' if found else 'holds '}  {claim}{f': {found}' if found else ''}")
        self.is_good = self.is_good and not found

    def finish(self, stack: Stack, watch: Watch, checks: tuple[Check, ...]) -> int:
        """Check the invariants one by one; 0 where all hold, else 1."""
        for check in checks:
            self.check(str(check.__doc__), violations(stack.url, [check]))
        self.check(
            f"Nothing stored was changed, no endpoint had two runs, no provider more than its "
            f"cap ({watch.samples} looks, at most {watch.most_at_once} at once).",
            watch.violations,
        )
        counted: list[tuple[Any, ...]] = stack.sql(
            "SELECT state, count(*) FROM dashboard_run GROUP BY 1 ORDER BY 1"
        )
        self.say("  runs: " + ", ".join(f"{number} {state}" for state, number in counted))
        self.say("all good" if self.is_good else "NOT GOOD")
        return 0 if self.is_good else 1


def wait_for(claim: Any, what: str, seconds: float) -> str:
    """Nothing where the claim comes true in time, else what did not."""
    try:
        eventually(claim, seconds=seconds, what=what)
    except AssertionError as exc:
        return str(exc)
    return ""


def clock(stack: Stack) -> Any:
    """The database's clock."""
    with psycopg.connect(stack.url) as connection:
        row = connection.execute("SELECT statement_timestamp()").fetchone()
    return row[0] if row else None


def main(command: Any) -> int:
    """Run a command of this folder; 3 where it cannot run here."""
    try:
        return int(command())
    except Missing as exc:
        print(exc, file=sys.stderr)
        return 3
