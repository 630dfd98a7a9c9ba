"""The rules for leaving the fallback, side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.detection import published
from benchmarks.detection.published import Stay
from benchmarks.detection.recovery import DROP, SEED, Floats, Rule, Stays, truth, year
from benchmarks.detection.tables import Table, within


def rules(compared: Sequence[Rule] = tuple(Rule)) -> Table:
    """The recommended rule is judged; the others are for comparison."""
    table = Table(
        f"Leaving the fallback: entries a year (share of the time inside), seed {SEED}",
        ("truth", "rule", "found", "published", "within 25 %"),
    )
    for name, expected in published.RECOVERY.items():
        for rule, published_stay in zip(Rule, expected, strict=True):
            if rule in compared:
                rates = truth(name)
                stays = year(rates, rule)
                measured = stay(rates, stays)
                passed = is_near(measured, published_stay) if rule is Rule.RECOMMENDED else None
                table.add(
                    (name, rule, _format_stay(measured), _format_stay(published_stay)), passed
                )
                if rule is Rule.RECOMMENDED and name == "0.50 for ten days":
                    _add_leaving(table, rates, stays)
    return table


def as_built() -> Table:
    """The recommended rule as health/watch.py applies it."""
    table = Table(
        "The recommended rule as built: decided after every native run, proof capped",
        ("truth", "entries a year (share of the time inside)"),
    )
    for name in published.RECOVERY:
        rates = truth(name)
        measured = stay(rates, year(rates, Rule.RECOMMENDED, as_built=True))
        table.add((name, _format_stay(measured)))
    return table


def stay(rates: Floats, stays: Stays) -> Stay:
    """The time inside during bad slots, and during good ones after the first bad one."""
    bad = rates < rates.max()
    inside = stays.inside.mean(axis=1)
    entries = float(stays.entries.mean())
    if not bad.any():
        return Stay(entries)
    good = ~bad
    good[:DROP] &= bad[:DROP].any()
    return Stay(
        entries,
        float(inside[bad].mean()),
        float(inside[good].mean()) if good.any() else None,
    )


def leaving(rates: Floats, stays: Stays) -> tuple[float, float]:
    """Slots after the end of the bad ones until half and nine tenths have left."""
    healthy = int(np.flatnonzero(rates < rates.max())[-1]) + 1
    inside = stays.inside[healthy:, stays.inside[healthy - 1]]
    out = inside.argmin(axis=0)
    return float(np.quantile(out, 0.5)), float(np.quantile(out, 0.9))


def is_near(measured: Stay, expected: Stay) -> bool:
    """Good weeks are compared only if published; rare entries by their difference."""
    if expected.entries < 0.1:
        return abs(measured.entries - expected.entries) <= published.RARE_TOLERANCE
    pairs = zip(measured, expected, strict=True)
    return all(
        within(ours, theirs, published.RECOVERY_TOLERANCE)
        for ours, theirs in pairs
        if ours is not None and theirs is not None
    )


def _add_leaving(table: Table, rates: Floats, stays: Stays) -> None:
    half, most = leaving(rates, stays)
    passed = abs(half - published.LEFT_HALF) <= 1 and abs(most - published.LEFT_NINE_TENTHS) <= 1
    was = f"{published.LEFT_HALF}, {published.LEFT_NINE_TENTHS}"
    name = "slots until half, nine tenths have left (within 1)"
    table.add((name, Rule.RECOMMENDED, f"{half:g}, {most:g}", was), passed)


def _format_stay(stay: Stay) -> str:
    if stay.share is None:
        return f"{stay.entries:.3g}"
    good = "" if stay.cautious is None else f"; good slots {stay.cautious:.0%}"
    return f"{stay.entries:.3g} ({stay.share:.0%}{good})"
