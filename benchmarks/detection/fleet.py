"""Two hundred healthy profiles over a year, compared with a plain threshold."""

from __future__ import annotations

from benchmarks.detection import published
from benchmarks.detection.false_alarms import PROFILE, profile_years
from benchmarks.detection.tables import Table

PROFILES, SEED = 200, 707


def healthy_fleet() -> Table:
    """False alarms per profile per year, by metric and in total."""
    table = Table(
        f"A healthy fleet: {PROFILES} profiles, one year, a run every six hours, rho 0.1, "
        f"seed {SEED}",
        ("true rate", "alarms a profile", "last run below 0.9", "at most 0.5"),
    )
    years = list(profile_years(0.1, PROFILES, SEED))
    for rate, year in zip(PROFILE, years, strict=True):
        table.add((f"{rate:g}", f"{year.per_year:.3f}", f"{year.low_runs / PROFILES:.0f}"))
    alarms = sum(year.per_year for year in years)
    low = sum(year.low_runs for year in years) / PROFILES
    passed = alarms <= published.MAX_FLEET_ALARMS
    table.add(("all seven", f"{alarms:.3f}", f"{low:.0f}"), passed)
    return table
