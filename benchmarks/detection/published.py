"""The published figures of the detector's design, and the tolerances of ours.

They come from an independent simulation, whose code draws other numbers from the same seeds.
"""

from __future__ import annotations

from typing import NamedTuple

RATES = (1.0, 0.98, 0.95, 0.9)

# (trials per run, rho): per rate, false alarms per metric per year, and added runs in percent.
FALSE_ALARMS = {
    (5, 0.0): ((0.000, 0.0), (0.013, 0.7), (0.035, 1.2), (0.015, 1.6)),
    (5, 0.1): ((0.000, 0.0), (0.023, 1.2), (0.054, 2.0), (0.052, 2.8)),
    (5, 0.3): ((0.000, 0.0), (0.063, 2.0), (0.293, 3.9), (0.412, 5.9)),
    (10, 0.0): ((0.000, 0.0), (0.005, 0.2), (0.008, 0.4), (0.018, 0.6)),
    (10, 0.1): ((0.000, 0.0), (0.015, 0.7), (0.047, 1.2), (0.090, 2.1)),
    (10, 0.3): ((0.000, 0.0), (0.101, 1.7), (0.423, 3.4), (0.743, 5.4)),
    (20, 0.0): ((0.000, 0.0), (0.001, 0.0), (0.005, 0.1), (0.021, 0.2)),
    (20, 0.1): ((0.000, 0.0), (0.001, 0.3), (0.087, 1.0), (0.237, 2.0)),
    (20, 0.3): ((0.000, 0.0), (0.094, 1.4), (0.585, 3.4), (1.500, 5.6)),
}
POOLED = {0.98: 0.017, 0.95: 0.077, 0.9: 0.097}
MAX_ALARMS = 0.15
# rho: false alarms per profile per year, share of years without one.
PROFILE = {0.0: (0.105, 0.965), 0.1: (0.37, 0.896)}
MAX_PROFILE_ALARMS = 0.6
# Slots per year: false alarms per metric per year at a true rate of 0.98, 0.95 and 0.9.
BY_CADENCE = {365: (0.009, 0.039, 0.064), 8760: (0.040, 0.144, 0.116)}


class Delay(NamedTuple):
    """Slots until the alarm."""

    mean: float
    median: float
    late: float  # nine in ten are detected by then
    missed: float | None = 0.0  # share that is not detected in 120 slots, if published


ONE = Delay(1, 1, 1)
# (trials per run, rate before): per rate after the drop. Rho is 0.1.
DELAYS = {
    (5, 1.0): {0.9: Delay(9.2, 8, 17), 0.8: Delay(3.5, 3, 6), 0.5: Delay(1.3, 1, 2), 0.0: ONE},
    (5, 0.98): {
        0.9: Delay(44, 29, 120, 0.13),
        0.8: Delay(7.5, 6, 14),
        0.5: Delay(1.9, 2, 3),
        0.0: ONE,
    },
    (5, 0.95): {
        0.9: Delay(103, 120, 120, 0.75),
        0.8: Delay(16.7, 13, 32),
        0.5: Delay(2.5, 2, 4),
        0.0: ONE,
    },
    (5, 0.9): {0.8: Delay(64, 52, 120, 0.28), 0.5: Delay(3.7, 3, 6), 0.0: ONE},
    (10, 1.0): {0.9: Delay(7.5, 6, 14), 0.8: Delay(2.9, 3, 5), 0.5: Delay(1.3, 1, 2), 0.0: ONE},
    (10, 0.98): {
        0.9: Delay(44, 24, 120, 0.17),
        0.8: Delay(6.2, 5, 11),
        0.5: Delay(1.65, 2, 3),
        0.0: ONE,
    },
    (10, 0.95): {
        0.9: Delay(102, 120, 120, 0.76),
        0.8: Delay(14.9, 10, 29, 0.01),
        0.5: Delay(2.1, 2, 3),
        0.0: ONE,
    },
    (10, 0.9): {0.8: Delay(66, 53, 120, 0.36), 0.5: Delay(3.2, 3, 5), 0.0: ONE},
    (20, 1.0): {0.9: Delay(8.1, 7, 14), 0.8: Delay(3.0, 3, 5), 0.5: Delay(1.3, 1, 2), 0.0: ONE},
    (20, 0.98): {
        0.9: Delay(52, 28, 120, 0.27),
        0.8: Delay(6.4, 5, 11),
        0.5: Delay(1.6, 1, 2),
        0.0: ONE,
    },
    (20, 0.95): {
        0.9: Delay(103, 120, 120, 0.79),
        0.8: Delay(19.9, 10, 44, 0.05),
        0.5: Delay(2.0, 2, 3),
        0.0: ONE,
    },
    (20, 0.9): {0.8: Delay(72, 84, 120, 0.45), 0.5: Delay(2.9, 3, 5), 0.0: ONE},
}
# Ten trials. (rate before, rate after): rho 0.
INDEPENDENT_DELAYS = {
    (0.98, 0.9): Delay(26, 16, 59, 0.04),
    (0.98, 0.8): Delay(5.1, 5, 8),
    (0.95, 0.8): Delay(10.7, 9, 18),
    (0.9, 0.8): Delay(53, 36, 120, None),
}
# Ten trials, rho 0.1, no confirmation runs.
UNCONFIRMED_DELAYS = {
    (0.98, 0.8): Delay(13.3, 11, 23),
    (0.98, 0.5): Delay(3.8, 4, 5),
    (0.98, 0.0): Delay(2, 2, 2),
    (0.95, 0.8): Delay(30, 23, 58),
}
HOURLY_DELAYS = {(0.98, 0.8): Delay(6.7, 6, 11), (0.98, 0.5): Delay(1.7, 2, 3)}
MEAN_TOLERANCE, MEDIAN_TOLERANCE = 0.08, 0.15


class Stay(NamedTuple):
    """The cost of a rule for leaving the fallback."""

    entries: float  # per year
    share: float | None = None  # of the time (of bad weeks) in fallback
    cautious: float | None = None  # of good weeks


# Per truth: leave on the first good run, on three in a row, as recommended.
RECOVERY = {
    "healthy": (Stay(0.07), Stay(0.06), Stay(0.06)),
    "0.80 for good": (Stay(92, 0.15), Stay(58, 0.43), Stay(3.6, 0.94)),
    "0.88 for good": (Stay(17, 0.02), Stay(16, 0.04), Stay(6.5, 0.24)),
    "weekly 0.95 and 0.60": (Stay(77), Stay(27), Stay(14, 0.95, 0.73)),
    "0.50 for ten days": (Stay(2.8), Stay(1.06), Stay(1.05)),
}
LEFT_HALF, LEFT_NINE_TENTHS = 2, 4  # slots after the ten days
RECOVERY_TOLERANCE, RARE_TOLERANCE = 0.25, 0.05
# Buckets of 200 requests, rho 0.02, from 0.99 to each rate: mean until the alarm.
LIVE_DELAYS = {0.97: 88, 0.94: 12.4, 0.89: 5.5, 0.5: 2.0}
# (requests per bucket, true rho, rate): false alarms per metric per year.
LIVE_FALSE_ALARMS = {
    (200, 0.02, 0.99): 0.0,
    (50, 0.02, 0.99): 0.21,
    (50, 0.02, 0.97): 0.74,
    (200, 0.05, 0.99): 0.84,
    (200, 0.05, 0.97): 2.8,
}
MAX_FLEET_ALARMS = 0.5
