"""What an audit entry costs, and checking a long log: `python -m benchmarks.audit`."""

from __future__ import annotations

import argparse
import signal
import sys
import time
import tracemalloc
from collections.abc import Callable
from statistics import median
from typing import Any

from django.db import transaction

from benchmarks.pages import stack

ROUNDS, WARM_UP = 100, 10
BATCH = 2_000
MAX_RATIO, MAX_GROWTH = 2.0, 2.0  # beyond these this program exits with 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--few", type=int, default=10_000, help="entries, at first")
    parser.add_argument("--many", type=int, default=100_000, help="entries, in the end")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with stack.run_cluster():
        worst = _measure_actions()
        growth = _measure_verification(options.few, options.many)
    return int(worst > MAX_RATIO or growth > MAX_GROWTH)


def _measure_actions() -> float:
    """One line per action, alternating with and without its entry; returns the largest ratio."""
    _say("| action | without an entry | with | ratio |")
    _say("|---|---|---|---|")
    worst = 0.0
    for name, action in _actions().items():
        without, with_entry = _median_times(action)
        worst = max(worst, with_entry / without)
        _say(
            f"| {name} | {without * 1000:.2f} ms | {with_entry * 1000:.2f} ms "
            f"| {with_entry / without:.2f} |"
        )
    return worst


def _actions() -> dict[str, Callable[[], object]]:
    from datetime import timedelta

    from dashboard.charts import services as notes
    from dashboard.endpoints.services import endpoints

    fields: dict[str, Any] = {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}
    fields |= {"model": "m", "options": {}, "ttl": timedelta(hours=6), "max_concurrency": 2}
    fields |= {"enabled": False, "key": None}
    endpoint = endpoints.create(slug="edited", **fields)
    numbers = iter(range(10**9))

    def edit() -> object:
        model = f"m-{next(numbers)}"
        return endpoints.update(endpoint, key=None, forget_key=False, model=model)

    return {
        "write a note": lambda: notes.add_note(endpoint, at=None, text="x", by=None),
        "change an endpoint": edit,
        "register an endpoint": lambda: endpoints.create(slug=f"e-{next(numbers)}", **fields),
    }


def _median_times(action: Callable[[], object]) -> tuple[float, float]:
    """The median without and with an entry."""
    from dashboard.audit import services as audit

    record = audit.record
    seconds: dict[bool, list[float]] = {False: [], True: []}
    try:
        for number in range(2 * (ROUNDS + WARM_UP)):
            is_recorded = bool(number % 2)
            audit.record = record if is_recorded else _record_nothing
            started = time.perf_counter()
            action()
            seconds[is_recorded].append(time.perf_counter() - started)
    finally:
        audit.record = record
    return median(seconds[False][WARM_UP:]), median(seconds[True][WARM_UP:])


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _record_nothing(*_args: Any, **_named: Any) -> None:
    """Replaces `audit.record`."""


def _measure_verification(few: int, many: int) -> float:
    """One line per length; returns the growth of the time per entry."""
    _say("")
    _say("| entries | checked in | an entry | memory at most |")
    _say("|---|---|---|---|")
    costs = [_time_verification(count) for count in (few, many)]
    _say(f"An entry of the longer log takes {costs[1] / costs[0]:.2f} times as long.")
    return costs[1] / costs[0]


def _time_verification(count: int) -> float:
    from dashboard.audit import chain

    _fill(count)
    started = time.perf_counter()
    result = chain.verify_chain()
    took = time.perf_counter() - started
    assert result.is_good
    tracemalloc.start()
    chain.verify_chain()
    peak_memory = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    _say(
        f"| {result.links:,} | {took:.2f} s | {took / result.links * 1e6:.0f} µs "
        f"| {peak_memory / 2**20:.1f} MiB |"
    )
    return took / result.links


def _fill(count: int) -> None:
    """Fill the log up to `count` entries like those of endpoint changes, linked by the database."""
    from dashboard.core.sql import execute
    from dashboard.models import AuditLink

    remaining = count - AuditLink.objects.count()
    with transaction.atomic():
        _record_one()
    for start in range(1, remaining, BATCH):
        execute(_COPIES, {"count": min(BATCH, remaining - start)})


def _record_one() -> None:
    from dashboard.audit import services as audit
    from dashboard.models.audit import Action

    sides = {"model": "some-model-of-a-vendor", "ttl": "6h", "tags": '["production"]'}
    audit.record(
        Action.ENDPOINT_CHANGED,
        subject="endpoint some-endpoint",
        reason="the vendor moved it",
        before=sides,
        after=sides,
    )


_COPIES = """
INSERT INTO dashboard_auditentry (body)
SELECT body FROM (SELECT body FROM dashboard_auditentry ORDER BY id DESC LIMIT 1) last,
    generate_series(1, %(count)s)
"""

if __name__ == "__main__":
    sys.exit(main())
