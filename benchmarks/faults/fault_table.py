"""The output and the exit code of a fault command."""

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


def find_program(name: str, package: str) -> Path:
    """The path of a program; raises Missing with the package to install."""
    # Distributions install servers outside the PATH of normal users.
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    if path is None:
        raise Missing(f"{name} is needed: apt install {package}")
    return Path(path)


@contextmanager
def scratch(servers: Servers, vendor: Vendor) -> Iterator[Stack]:
    """A stack whose logs are removed with it."""
    with (
        tempfile.TemporaryDirectory(prefix="toolgauge-faults-") as folder,
        open_stack(servers, vendor, Path(folder)) as stack,
    ):
        yield stack


class Report:
    """Lines on the terminal, and whether all checks passed."""

    def __init__(self) -> None:
        self.is_good = True

    def say(self, line: str) -> None:
        print(line, flush=True)

    def check(self, claim: str, fault: object) -> None:
        """Print a claim, and the evidence against it, if any."""
        self.say(f"  {'FAILED' if fault else 'holds '}  {claim}{f': {fault}' if fault else ''}")
        self.is_good = self.is_good and not fault

    def finish(self, stack: Stack, watch: Watch, checks: tuple[Check, ...]) -> int:
        """Check the invariants one by one; 0 if all hold, else 1."""
        for check in checks:
            self.check(str(check.__doc__), violations(stack.url, [check]))
        self.check(
            f"Nothing stored was changed, no endpoint had two runs, no provider more than its "
            f"cap ({watch.samples} looks, at most {watch.most_at_once} at once).",
            watch.violations,
        )
        counts: list[tuple[Any, ...]] = stack.sql(
            "SELECT state, count(*) FROM dashboard_run GROUP BY 1 ORDER BY 1"
        )
        self.say("  runs: " + ", ".join(f"{number} {state}" for state, number in counts))
        self.say("all good" if self.is_good else "NOT GOOD")
        return 0 if self.is_good else 1


def wait_for(claim: Any, what: str, seconds: float) -> str:
    """ "" if the claim becomes true in time, else what did not."""
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
    """Run a command of this folder; 3 if it cannot run here."""
    try:
        return int(command())
    except Missing as exc:
        print(exc, file=sys.stderr)
        return 3
