"""Server time, queries and weight of a page, over the whole of Django but the network."""

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

LOOKS, WARM_UP = 6, 2  # of a block


@dataclass(slots=True)
class Cost:
    """One page on one database."""

    seconds: list[float] = field(default_factory=list)
    queries: int = 0
    size: int = 0
    packed: int = 0

    @property
    def ms(self) -> float:
        return median(self.seconds) * 1000


def compare(client: Client, path: str, *, blocks: int) -> tuple[Cost, Cost]:
    """The page on few rows and on many, by turns."""
    costs = {stack.FEW: Cost(), stack.MANY: Cost()}
    for _ in range(blocks):
        for database, cost in costs.items():
            stack.use(database)
            taken = [_look(client, path) for _ in range(WARM_UP + LOOKS)]
            cost.seconds += [seconds for seconds, _ in taken[WARM_UP:]]
            body = taken[-1][1]
            cost.size, cost.packed = len(body), len(gzip.compress(body))
    for database, cost in costs.items():
        stack.use(database)
        with CaptureQueriesContext(connection) as seen:
            _look(client, path)
        cost.queries = len(seen)
    return costs[stack.FEW], costs[stack.MANY]


def _look(client: Client, path: str) -> tuple[float, bytes]:
    begun = time.perf_counter()
    answer: Any = client.get(path)
    taken = time.perf_counter() - begun
    assert answer.status_code == 200, answer.status_code
    return taken, answer.content
