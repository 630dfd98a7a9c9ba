"""Whether the detector keeps what it was designed for: `python -m benchmarks.detection`.

Prints its figures beside those that the design was published with, and exits with 1 where one is
outside its tolerance. `--quick` leaves out what no tolerance is stated for.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial

from benchmarks.detection import delays, false_alarms, fleet, live, recovery_table
from benchmarks.detection.false_alarms import HOURLY, SIX_HOURLY
from benchmarks.detection.recovery import Rule
from benchmarks.detection.tables import Table

QUICK: Sequence[Callable[[], Table]] = (
    false_alarms.pooled,
    partial(delays.drops, (10,)),
    partial(false_alarms.profile, (0.1,)),
    partial(recovery_table.rules, (Rule.RECOMMENDED,)),
    fleet.healthy_fleet,
    partial(fleet.by_cadence, (SIX_HOURLY, HOURLY), (101,), 600),
)
ALL: Sequence[Callable[[], Table]] = (
    false_alarms.single_cells,
    false_alarms.pooled,
    delays.drops,
    delays.other_drops,
    false_alarms.profile,
    false_alarms.cadences,
    live.live_drops,
    live.live_false_alarms,
    recovery_table.rules,
    recovery_table.as_built,
    delays.formula,
    fleet.healthy_fleet,
    fleet.by_cadence,
    delays.by_baseline,
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one minute instead of eight")
    options = parser.parse_args()
    failures = 0
    for part in QUICK if options.quick else ALL:
        table = part()
        print(table.text(), flush=True)
        failures += table.failures
    print(f"Outside their tolerance: {failures}")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
