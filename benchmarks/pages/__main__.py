"""The fleet page with 10 and 1,000 endpoints of a year: `python -m benchmarks.pages`."""

from __future__ import annotations

import argparse
import signal
import sys
import time

from django.conf import settings
from django.test import Client

from benchmarks.pages import browser, page_history, stack, timing
from benchmarks.pages.timing import Cost
from launcher import postgres

FEW_ENDPOINTS, MANY_ENDPOINTS = 10, 1_000
# Beyond these this program exits with 1.
MAX_RATIO, MAX_MS, MAX_RAW_RATIO = 3.0, 300.0, 1.3
MEASURED = 1  # the endpoint whose page is measured


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--endpoints", type=int, default=MANY_ENDPOINTS)
    parser.add_argument("--days", type=int, default=365, help="of history, with a run a day")
    parser.add_argument("--blocks", type=int, default=10, help="of looks at each page, by turns")
    parser.add_argument("--no-browser", action="store_true")
    options = parser.parse_args()
    # Ending by an exception removes the server and its data.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with stack.run_cluster() as cluster:
        session = _fill(options.endpoints, options.days)
        is_good = _measure_fleet(session, options.blocks)
        is_good &= _measure_endpoint(session, options.blocks)
        if not options.no_browser:
            _measure_browser(cluster, session)
    return int(not is_good)


def _fill(endpoints: int, days: int) -> str:
    """Fill both databases; returns the session of a user who is signed in on both."""
    started = time.perf_counter()
    session = _sign_in()
    page_history.add_endpoints(1, FEW_ENDPOINTS, days=days)
    page_history.make_partitions(days)
    few = _raw_rows(range(1, page_history.FEW_ATTEMPTS + 1), page_history.FEW_EVENTS)
    page_history.settle()
    stack.copy_database()
    stack.use_database(stack.MANY)
    page_history.add_endpoints(FEW_ENDPOINTS + 1, endpoints, days=days)
    many = few + _raw_rows(
        range(page_history.FEW_ATTEMPTS + 1, page_history.MANY_ATTEMPTS + 1),
        page_history.MANY_EVENTS,
    )
    page_history.settle()
    _say(f"Filled in {time.perf_counter() - started:.0f} s: {endpoints:,} endpoints, ")
    _say(f"a run a day for {days} days; raw rows of one endpoint {few:,} and {many:,}.")
    return session


def _raw_rows(attempts: range, events: int) -> int:
    return page_history.add_raw_rows(MEASURED, attempts=attempts, events=events)


def _measure_fleet(session: str, blocks: int) -> bool:
    few, many = timing.compare(_client(session), "/", blocks=blocks)
    ratio = many.ms / few.ms
    _table("fleet page", few, many)
    return ratio <= MAX_RATIO and many.ms < MAX_MS and few.queries == many.queries


def _measure_endpoint(session: str, blocks: int) -> bool:
    path = f"/endpoints/endpoint-{MEASURED:04}/?range=30d"
    few, many = timing.compare(_client(session), path, blocks=blocks)
    _table("endpoint page", few, many)
    return many.ms / few.ms <= MAX_RAW_RATIO and few.queries == many.queries


def _measure_browser(cluster: postgres.Cluster, session: str) -> None:
    urls = [stack.database_url(cluster, name) for name in (stack.FEW, stack.MANY)]
    ms = browser.interactive_ms(urls, session, "/")
    if ms is None:
        _say("\nNO BROWSER: set CHROMIUM_PATH; time to interactive was not measured.")
        return
    _say("\n| fleet page in Chromium | few | many | ratio |\n|---|---|---|---|")
    ratio = ms[1] / ms[0]
    _say(f"| interactive after | {ms[0]:.0f} ms | {ms[1]:.0f} ms | {ratio:.2f} |")


def _table(name: str, few: Cost, many: Cost) -> None:
    _say(f"\n| {name} | few | many | ratio |\n|---|---|---|---|")
    _say(f"| server time, median | {few.ms:.1f} ms | {many.ms:.1f} ms | {many.ms / few.ms:.2f} |")
    _say(f"| queries | {few.queries} | {many.queries} | {many.queries / few.queries:.2f} |")
    for label, one, other in (
        ("weight", few.size, many.size),
        ("weight by gzip", few.packed, many.packed),
    ):
        _say(f"| {label} | {one / 1024:.0f} KB | {other / 1024:.0f} KB | {other / one:.2f} |")


def _sign_in() -> str:
    from django.contrib.auth.models import User

    client = Client()
    client.force_login(User.objects.create_superuser("admin"))
    return str(client.cookies[settings.SESSION_COOKIE_NAME].value)


def _client(session: str) -> Client:
    client = Client(headers={"host": "127.0.0.1"})
    client.cookies[settings.SESSION_COOKIE_NAME] = session
    return client


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
