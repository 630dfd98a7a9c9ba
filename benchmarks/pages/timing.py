"""Server time, queries and size of a page, through all of Django but the network."""

from __future__ import annotations

import gzip
import time
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from benchmarks.pages import stack

LOADS, WARM_UP = 6, 2  # per block


@dataclass(slots=True)
class Cost:
    """The cost of one page on one database."""

    seconds: list[float] = field(default_factory=list)
    queries: int = 0
    size: int = 0
    packed: int = 0

    @property
    def ms(self) -> float:
        return median(self.seconds) * 1000


def compare(client: Client, path: str, *, blocks: int) -> tuple[Cost, Cost]:
    """The page on few rows and on many, in turns."""
    costs = {stack.FEW: Cost(), stack.MANY: Cost()}
    for _ in range(blocks):
        for database, cost in costs.items():
            stack.use_database(database)
            timings = [_load_page(client, path) for _ in range(WARM_UP + LOADS)]
            cost.seconds += [seconds for seconds, _ in timings[WARM_UP:]]
            body = timings[-1][1]
            cost.size, cost.packed = len(body), len(gzip.compress(body))
    for database, cost in costs.items():
        stack.use_database(database)
        with CaptureQueriesContext(connection) as captured:
            _load_page(client, path)
        cost.queries = len(captured)
    return costs[stack.FEW], costs[stack.MANY]


def _load_page(client: Client, path: str) -> tuple[float, bytes]:
    started = time.perf_counter()
    answer: Any = client.get(path)
    seconds = time.perf_counter() - started
    assert answer.status_code == 200, answer.status_code
    return seconds, answer.content
