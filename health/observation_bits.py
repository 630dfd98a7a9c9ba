"""Verdicts packed into observation rows: two bits per metric, 0 no trial, 1 good, 2 bad."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from probes.outcomes import Metric, Verdict

# The position of each metric in the packed number. Append only: stored rows depend on it.
PLACES = {metric: place for place, metric in enumerate(Metric)}
GOOD, BAD = 1, 2


def pack_verdicts(verdicts: Iterable[Verdict]) -> list[int]:
    """Pack verdicts into as few rows as possible; a metric with three trials needs three rows."""
    rows: list[int] = []
    used: Counter[Metric] = Counter()
    for verdict in verdicts:
        row = used[verdict.metric]
        used[verdict.metric] += 1
        if row == len(rows):
            rows.append(0)
        rows[row] |= (GOOD if verdict.good else BAD) << (2 * PLACES[verdict.metric])
    return rows


def unpack_verdicts(packed: int) -> list[Verdict]:
    """The verdicts of one packed number."""
    verdicts = []
    for metric, place in PLACES.items():
        bits = packed >> (2 * place) & 0b11
        if bits:
            verdicts.append(Verdict(metric, good=bits == GOOD))
    return verdicts
