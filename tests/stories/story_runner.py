"""Runs stories through the product: real workers, real HTTP, and a clock that jumps ahead."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg import sql

from tests import migrated
from tests.live import broker, celery_worker, environment
from tests.preloaded import run_module
from tests.simulators.plugin import serve_vendors
from tests.stories.simulated_clock import SimulatedClock, install_clock
from workers.probing import beat

# Keeps a broken product from hanging the tests.
PATIENCE_SECONDS = 120
SETTINGS = {
    # No worker dies here, and the clock only jumps while no lease is held.
    "RUN_LEASE": "10m",
    "RUN_HEARTBEAT": "5s",
    # The runner sends what beat sends; the workers' own timers are only a fallback.
    "SCHEDULE_EVERY": "5s",
    "RUN_RING_AGAIN": "5s",
}


@dataclass(frozen=True, slots=True)
class StoryEndpoint:
    """An endpoint with its simulated vendor; it is probed until that day."""

    slug: str
    provider: str
    path: str
    model: str
    ttl_hours: int
    until_day: float


_PREPARE = """
import json
from datetime import timedelta
from dashboard.endpoints.services import endpoints
from probes.secret import Secret
for fields in json.loads({endpoints!r}):
    endpoints.create(
        slug=fields["slug"], provider=fields["provider"], base_url={vendors!r} + fields["path"],
        model=fields["model"], options={{}}, ttl=timedelta(hours=fields["ttl_hours"]),
        max_concurrency=4, enabled=True, key=Secret("sim-key"),
    )
"""

_RELEASE = """
from dashboard.models import Incident
from dashboard.trust import detection
for incident in Incident.objects.filter(release_wanted=True):
    detection.release_incident(incident, by=None, note="The vendor says that it is mended.")
"""


class StoryRunner:
    """A database with a simulated clock, and the simulated vendors."""

    def __init__(self, url: str, vendors: str, endpoints: Sequence[StoryEndpoint]) -> None:
        self.env = {**os.environ, **environment(), **SETTINGS, "DATABASE_URL": url}
        self.endpoints = endpoints
        fields = json.dumps([asdict(endpoint) for endpoint in endpoints])
        self.python(_PREPARE.format(endpoints=fields, vendors=vendors))
        self.session = psycopg.connect(url, autocommit=True)
        self.clock = SimulatedClock(self.session, vendors)

    def python(self, code: str) -> str:
        """Run code with Django set up in its own process; returns its output."""
        shell = ("manage", "shell", "--verbosity", "0", "-c", code)
        return run_module(*shell, env=self.env, check=True).stdout

    def sql(self, statement: LiteralString, *values: object) -> list[tuple[Any, ...]]:
        cursor = self.session.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []

    def run_stories(self) -> None:
        """Jump from one due time to the next until every story is over."""
        while self._advance_clock():
            # What beat sends; scheduling, wake-ups and runs are up to the product.
            beat.delay()
            self._wait_until_quiet()
            if self.sql("SELECT 1 FROM dashboard_incident WHERE release_wanted"):
                self.python(_RELEASE)

    def close(self) -> None:
        self.clock.close()
        self.session.close()

    def _advance_clock(self) -> bool:
        """Move the clock to the next due time; False if no endpoint is due any more."""
        for endpoint in self.endpoints:
            end = self.clock.began + timedelta(days=endpoint.until_day)
            self.sql(_END, endpoint.slug, end)
        ((moment,),) = self.sql(_NEXT)
        if moment is not None:
            self.clock.move_to(moment)
        return moment is not None

    def _wait_until_quiet(self) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while self.sql(_BUSY):
            assert time.monotonic() < end, f"still busy: {self.sql(_BUSY)}"
            time.sleep(0.03)


@contextmanager
def start_stories(endpoints: Sequence[StoryEndpoint], folder: Path) -> Iterator[StoryRunner]:
    """Start database, vendors and workers for the stories, and remove them afterwards."""
    server = environment()["DATABASE_URL"].rpartition("/")[0]
    database = f"stories_{os.getpid()}"
    with ExitStack() as stack:
        admin = stack.enter_context(psycopg.connect(f"{server}/postgres", autocommit=True))
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(database)))
        drop = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(database))
        stack.callback(admin.execute, drop)
        install_clock(f"{server}/{database}", database)
        migrated.copy_tables(f"{server}/{database}")
        _number_seeds(f"{server}/{database}")
        broker().flushdb()
        stack.callback(broker().flushdb)
        vendors, _ = stack.enter_context(serve_vendors())
        runner = StoryRunner(f"{server}/{database}", vendors, endpoints)
        stack.callback(runner.close)
        env = {**SETTINGS, "DATABASE_URL": runner.env["DATABASE_URL"]}
        stack.enter_context(celery_worker(folder / "worker.log", concurrency=2, **env))
        yield runner


def _number_seeds(url: str) -> None:
    """Draw the seeds of runs from the endpoint and the run's number: a story never varies."""
    with psycopg.connect(url, autocommit=True) as session:
        session.execute(_NUMBERED_SEEDS)


# Questions, the faults that strike them and the waits between runs all follow from the seed.
_NUMBERED_SEEDS: LiteralString = """
CREATE FUNCTION number_seed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    NEW.seed := (SELECT abs(hashtextextended(e.slug, count(r.id))) % 9007199254740992
        FROM dashboard_endpoint e LEFT JOIN dashboard_run r ON r.endpoint_id = e.id
        WHERE e.id = NEW.endpoint_id GROUP BY e.slug);
    RETURN NEW;
END $$;
CREATE TRIGGER number_seed BEFORE INSERT ON dashboard_run
    FOR EACH ROW EXECUTE FUNCTION number_seed();
"""

_END: LiteralString = """
UPDATE dashboard_endpoint SET enabled = false WHERE slug = %s AND next_due_at > %s
"""

# A run may be a little late, so that several are made at once, as in a busy fleet. For an endpoint
# with a run under way the time of the run counts, because a retry waits.
_NEXT: LiteralString = """
SELECT min(CASE WHEN r.id IS NOT NULL THEN r.not_before ELSE e.next_due_at
    + CASE e.next_trigger WHEN 'confirm' THEN interval '1 minute'
        WHEN 'baseline' THEN interval '3 minutes' ELSE e.ttl / 12 END END)
FROM dashboard_endpoint e
LEFT JOIN dashboard_run r ON r.endpoint_id = e.id AND r.finished_at IS NULL
WHERE e.enabled OR r.id IS NOT NULL
"""

_BUSY: LiteralString = """
SELECT e.slug, r.state FROM dashboard_endpoint e
LEFT JOIN dashboard_run r ON r.endpoint_id = e.id AND r.finished_at IS NULL
WHERE r.state IN ('leased', 'running') OR r.not_before <= statement_timestamp()
    OR (r.id IS NULL AND e.enabled AND e.next_due_at <= statement_timestamp())
"""
