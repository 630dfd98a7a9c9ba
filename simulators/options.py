"""What the command that serves the vendors can be told. Light, for `--help` must not wait."""

from __future__ import annotations

import argparse
import math
from datetime import UTC, datetime

_LATENCY_HELP = "seconds that an answer takes, MIN-MAX or one number (0.08-0.25)"
_SPEED_HELP = "how many times as fast as real time faults begin, ramp up and end (1)"
_SINCE_HELP = "when the stories began, such as 2026-01-31T12:00:00Z (now)"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add --latency, --speed and --since; a latency of None is the vendors' own."""
    parser.add_argument("--latency", type=latency, metavar="SECONDS", help=_LATENCY_HELP)
    parser.add_argument("--speed", type=speed, default=1.0, metavar="N", help=_SPEED_HELP)
    parser.add_argument("--since", type=since, metavar="TIMESTAMP", help=_SINCE_HELP)


def latency(text: str) -> tuple[float, float]:
    """`0.1-0.3`, or `0.2` for the same each time."""
    low, dash, high = text.partition("-")
    least, most = _number(low), _number(high if dash else low)
    if least is None or most is None or least > most:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a latency; give seconds such as 0.2, or a range such as 0.1-0.3"
        )
    return least, most


def speed(text: str) -> float:
    """A number above 0."""
    number = _number(text)
    if not number:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a speed; give a number above 0, such as 3600 for an hour a second"
        )
    return number


def since(text: str) -> datetime:
    """A moment in ISO 8601; in UTC where it names no zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as exc:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a timestamp; give a date and time such as 2026-01-31T12:00:00Z"
        ) from exc
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
