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
AT_ONCE = 2_000
MOST_RATIO, MOST_GROWTH = 2.0, 2.0  # what this program exits with 1 for


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--few", type=int, default=10_000, help="entries, at first")
    parser.add_argument("--many", type=int, default=100_000, help="entries, in the end")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with stack.cluster():
        worst = _actions()
        growth = _checking(asked.few, asked.many)
    return int(worst > MOST_RATIO or growth > MOST_GROWTH)


def _actions() -> float:
    """A line for each action, in turns with and without its entry; returns the largest ratio."""
    _say("| action | without an entry | with | ratio |")
    _say("|---|---|---|---|")
    worst = 0.0
    for name, act in _kinds().items():
        without, with_entry = _times(act)
        worst = max(worst, with_entry / without)
        _say(
            f"| {name} | {without * 1000:.2f} ms | {with_entry * 1000:.2f} ms "
            f"| {with_entry / without:.2f} |"
        )
    return worst


def _kinds() -> dict[str, Callable[[], object]]:
    from datetime import timedelta

    from dashboard.charts import services as notes
    from dashboard.endpoints.services import endpoints

    given: dict[str, Any] = {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}
    given |= {"model": "m", "options": {}, "ttl": timedelta(hours=6), "max_concurrency": 2}
    given |= {"enabled": False, "key": None}
    endpoint = endpoints.create(slug="edited", **given)
    numbers = iter(range(10**9))

    def edit() -> object:
        model = f"m-{next(numbers)}"
        return endpoints.update(endpoint, key=None, forget_key=False, model=model)

    return {
        "write a note": lambda: notes.add_note(endpoint, at=None, text="x", by=None),
        "change an endpoint": edit,
        "register an endpoint": lambda: endpoints.create(slug=f"e-{next(numbers)}", **given),
    }


def _times(act: Callable[[], object]) -> tuple[float, float]:
    """The median of each way."""
    from dashboard.audit import services as audit

    record = audit.record
    taken: dict[bool, list[float]] = {False: [], True: []}
    try:
        for number in range(2 * (ROUNDS + WARM_UP)):
            is_told = bool(number % 2)
            audit.record = record if is_told else _nothing
            started = time.perf_counter()
            act()
            taken[is_told].append(time.perf_counter() - started)
    finally:
        audit.record = record
    return median(taken[False][WARM_UP:]), median(taken[True][WARM_UP:])


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _nothing(*_args: Any, **_named: Any) -> None:
    """No entry."""


def _checking(few: int, many: int) -> float:
    """Lines for both lengths; returns how much more an entry of the longer log takes."""
    _say("")
    _say("| entries | checked in | an entry | memory at most |")
    _say("|---|---|---|---|")
    each = [_checked(count) for count in (few, many)]
    _say(f"An entry of the longer log takes {each[1] / each[0]:.2f} times as long.")
    return each[1] / each[0]


def _checked(count: int) -> float:
    from dashboard.audit import chain

    _fill(count)
    started = time.perf_counter()
    found = chain.verify_chain()
    took = time.perf_counter() - started
    assert found.is_good
    tracemalloc.start()
    chain.verify_chain()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    _say(
        f"| {found.links:,} | {took:.2f} s | {took / found.links * 1e6:.0f} µs "
        f"| {most / 2**20:.1f} MiB |"
    )
    return took / found.links


def _fill(count: int) -> None:
    """Entries like those of changes to endpoints, up to so many, linked by the database."""
    from dashboard.core.sql import execute
    from dashboard.models import AuditLink

    left = count - AuditLink.objects.count()
    with transaction.atomic():
        _record_one()
    for start in range(1, left, AT_ONCE):
        execute(_COPIES, {"count": min(AT_ONCE, left - start)})


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
