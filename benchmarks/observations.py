"""Recording observations, and a chart over many of them: `python -m benchmarks.observations`."""

from __future__ import annotations

import argparse
import base64
import io
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from statistics import median
from typing import TYPE_CHECKING, Any

import django
from django.core.management import call_command
from django.db import connection, transaction
from psycopg import Copy
from psycopg.copy import FileWriter

from launcher import postgres
from launcher.datafolder import open_data_folder
from launcher.supervisor import StopRequest, Supervisor

if TYPE_CHECKING:
    from dashboard.models import Endpoint
    from dashboard.models.observation import Observation

BATCH_SIZES = (500, 5_000, 50_000)
ROWS_PER_SIZE = 500_000  # recorded by each method, in batches of that size
DAYS, PROFILES = 90, 200
BLOCKS, CHARTS_PER_BLOCK, WARM_UP = 30, 20, 5
MIN_SHARE, MAX_RATIO = 0.5, 1.2  # beyond these this program exits with 1
TABLE = "dashboard_observation"
DICE = Random(7)  # noqa: S311 -- not secret


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--few", type=int, default=1, help="millions of raw rows, at first")
    parser.add_argument("--rows", type=int, default=20, help="millions of raw rows, in the end")
    options = parser.parse_args()
    # Ending by an exception removes the server and its gigabytes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with _cluster() as cluster:
        _connect(cluster)
        share = _measure_recording()
        ratio = _measure_charts(options.few, options.rows)
    return int(share < MIN_SHARE or ratio > MAX_RATIO)


def _measure_recording() -> float:
    """One line per batch size; returns the share of the raw rate at 5,000 rows."""
    _say("| rows a batch | raw text | raw binary | recorded | of the faster raw one |")
    _say("|---|---|---|---|---|")
    shares = {}
    for size in BATCH_SIZES:
        rates = _rates(size, rounds=max(5, ROWS_PER_SIZE // size))
        shares[size] = rates["recorded"] / max(rates["text"], rates["binary"])
        columns = " | ".join(f"{rates[way]:,.0f}/s" for way in ("text", "binary", "recorded"))
        _say(f"| {size:,} | {columns} | {shares[size]:.2f} |")
    return shares[5_000]


def _rates(size: int, rounds: int) -> dict[str, float]:
    """Rows per second of each method, in turns; the median of all rounds."""
    from dashboard.runs import observations

    rows = [_row() for _ in range(size)]
    binary, text = _formatted(rows, binary=True), _formatted(rows, binary=False)
    ways: dict[str, Callable[[], Any]] = {
        "text": lambda: _copy(text, binary=False),
        "binary": lambda: _copy(binary, binary=True),
        "recorded": lambda: observations.store_batch(rows, batch=uuid.uuid4()),
    }
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, write in ways.items():
            seconds[way].append(_time_call(write))
    _sql(f"TRUNCATE {TABLE}, dashboard_observationbatch")
    return {way: size / median(times) for way, times in seconds.items()}


def _row() -> Observation:
    """A live event as the gateway sends it: nothing is null but the run."""
    from dashboard.models.observation import Observation
    from dashboard.runs.observations import LIVE

    return Observation(
        profile_id=DICE.randrange(1, PROFILES),
        key_epoch=1,
        lane=LIVE,
        verdicts=DICE.choice([0b01, 0b0101, 0b010101, 0b1001, 0b10]),
        event_at=datetime.now(UTC) - timedelta(seconds=DICE.random() * 60),
        client_id=7,
        policy_version=3,
        latency_ms=DICE.randrange(9000),
        first_byte_ms=DICE.randrange(900),
        input_tokens=DICE.randrange(9000),
        output_tokens=DICE.randrange(900),
        http_status=200,
        end_reason=1,
        request_id=uuid.uuid4(),
    )


def _formatted(rows: Sequence[Observation], *, binary: bool) -> bytes:
    """The bytes for COPY, prepared in advance."""
    from dashboard.runs.observations import _TYPES

    out = io.BytesIO()
    with (
        connection.cursor() as cursor,
        Copy(cursor.cursor, binary=binary, writer=FileWriter(out)) as copy,
    ):
        copy.set_types(_TYPES)
        for row in rows:
            copy.write_row((datetime.now(UTC), 1, *row))
    return out.getvalue()


@transaction.atomic
def _copy(formatted: bytes, *, binary: bool) -> None:
    from dashboard.models.observation import COLUMNS

    form = "binary" if binary else "text"
    statement = f"COPY {TABLE} ({', '.join(COLUMNS)}) FROM STDIN (FORMAT {form})"
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(formatted)


def _measure_charts(few: int, many: int) -> float:
    """Fill, copy the small database, fill up, compare; returns the ratio of the medians."""
    endpoint = _create_endpoints()
    _fill(few)
    small = f"{postgres.NAME}_few"
    connection.close()
    with connection._nodb_cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {small} TEMPLATE {postgres.NAME}")
    _fill(many - few)
    seconds: dict[str, list[float]] = {small: [], postgres.NAME: []}
    for _ in range(BLOCKS):
        for database in seconds:
            _switch(database)
            seconds[database] += _chart_seconds(endpoint)[WARM_UP:]
    ms = {database: median(times) * 1000 for database, times in seconds.items()}
    ratio = ms[postgres.NAME] / ms[small]
    _say("\n| raw rows | 90-day chart, median | ratio |\n|---|---|---|")
    _say(f"| {few} million | {ms[small]:.2f} ms | 1.00 |")
    _say(f"| {many} million | {ms[postgres.NAME]:.2f} ms | {ratio:.2f} |")
    return ratio


def _create_endpoints() -> Endpoint:
    """As many endpoints as profiles; the charts are of one of them."""
    from dashboard.core import partitions
    from dashboard.endpoints.services import endpoints

    today = partitions.database_today()
    days = [today - timedelta(days=number) for number in range(DAYS + 1)]
    partitions.ensure_days(days)
    partitions.ensure_months(days, parents=partitions.ROLLUPS)
    created = [
        endpoints.create(
            slug=f"endpoint-{number}",
            provider="openai",
            base_url="http://127.0.0.1:9/v1",
            model="m",
            options={},
            ttl=timedelta(hours=6),
            max_concurrency=1,
            enabled=False,
            key=None,
        )
        for number in range(PROFILES)
    ]
    return created[PROFILES // 2]


def _fill(millions: int) -> None:
    """Add raw rows on the server, one batch per hour, then roll them up as the product does."""
    from dashboard.runs import rollups

    rows = millions * 1_000_000
    size = rows // (DAYS * 24)
    started = time.perf_counter()
    for day in range(DAYS):
        _sql(_DAY_OF_ROWS, {"day": day, "size": size, "profiles": PROFILES})
    filled = time.perf_counter()
    while rollups.roll_up():
        pass
    rolled = time.perf_counter()
    for level in ("5m", "hour", "day"):
        _sql(f"VACUUM ANALYZE dashboard_rollup{level}")
    _say(
        f"\n{millions} million rows: made in {filled - started:.0f} s, rolled up in "
        f"{rolled - filled:.0f} s ({rows / (rolled - filled):,.0f} rows/s)."
    )


def _chart_seconds(endpoint: Endpoint) -> list[float]:
    from dashboard.charts.series import read_series
    from dashboard.runs.observations import LIVE
    from probes.outcomes import Metric

    end = datetime.now(UTC)
    span: dict[str, Any] = {"start": end - timedelta(days=DAYS), "end": end}
    return [
        _time_call(lambda: read_series(endpoint, Metric.PARSE_SUCCESS, lane=LIVE, **span))
        for _ in range(WARM_UP + CHARTS_PER_BLOCK)
    ]


def _time_call(call: Callable[[], Any]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def _sql(statement: str, values: dict[str, Any] | None = None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def _switch(database: str) -> None:
    connection.close()
    connection.settings_dict["NAME"] = database
    connection.ensure_connection()


@contextmanager
def _cluster() -> Iterator[postgres.Cluster]:
    """A dedicated Postgres, durable as in production; its data is removed with it."""
    folder = Path(tempfile.mkdtemp(prefix="toolgauge-benchmark-"))
    supervisor = Supervisor(lambda _line: None, StopRequest())
    try:
        home = open_data_folder(folder)
        cluster = postgres.open_cluster(home)
        supervisor.bring_up([postgres.postgres_service(cluster, home.logs / "postgres.log")])
        postgres.ensure_database(cluster)
        yield cluster
    finally:
        supervisor.stop_all()
        shutil.rmtree(folder, ignore_errors=True)


def _connect(cluster: postgres.Cluster) -> None:
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": cluster.url(),
        "SECRET_KEY": secrets.token_urlsafe(48),
        "CREDENTIAL_KEYS": base64.b64encode(secrets.token_bytes(32)).decode(),
    }
    django.setup()
    from dashboard.core import partitions

    call_command("migrate", verbosity=0)
    partitions.ensure_partitions()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


# Half of all events end without a tool call, and so without a verdict on parsing.
_DAY_OF_ROWS = """
WITH hours AS (
    INSERT INTO dashboard_observationbatch (batch, at, rows)
    SELECT gen_random_uuid(), hour, %(size)s
    FROM generate_series(1, 24) number,
        LATERAL (SELECT date_trunc('day', statement_timestamp(), 'UTC')
            - make_interval(days => %(day)s, hours => number)) at (hour)
    ORDER BY hour RETURNING id, at)
INSERT INTO dashboard_observation (at, batch_id, profile_id, key_epoch, lane, client_id,
    policy_version, verdicts, event_at, latency_ms, first_byte_ms, input_tokens, output_tokens,
    http_status, end_reason, request_id)
SELECT at, id, 1 + row %% %(profiles)s, 1, 1, 7, 3, (ARRAY[0, 0, 1, 5, 9, 2])[1 + row %% 6],
    at + random() * interval '1 hour', random() * 9000, random() * 900, random() * 9000,
    random() * 900, 200, 1, gen_random_uuid()
FROM hours, generate_series(1, %(size)s) row
"""

if __name__ == "__main__":
    sys.exit(main())
