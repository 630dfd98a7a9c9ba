"""Options of the command that serves the vendors. Imports little, to keep `--help` fast."""

from __future__ import annotations

import argparse
import math
from datetime import UTC, datetime

_LATENCY_HELP = "seconds that an answer takes, MIN-MAX or one number (0.08-0.25)"
_SPEED_HELP = "how many times as fast as real time faults begin, ramp up and end (1)"
_SINCE_HELP = "when the stories began, such as 2026-01-31T12:00:00Z (now)"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add --latency, --speed and --since; a latency of None is the vendors' own."""
    parser.add_argument("--latency", type=parse_latency, metavar="SECONDS", help=_LATENCY_HELP)
    parser.add_argument("--speed", type=parse_speed, default=1.0, metavar="N", help=_SPEED_HELP)
    parser.add_argument("--since", type=parse_since, metavar="TIMESTAMP", help=_SINCE_HELP)


def parse_latency(text: str) -> tuple[float, float]:
    """A range such as `0.1-0.3`, or one number such as `0.2` for a constant latency."""
    low, dash, high = text.partition("-")
    least, most = _parse_number(low), _parse_number(high if dash else low)
    if least is None or most is None or least > most:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a latency; give seconds such as 0.2, or a range such as 0.1-0.3"
        )
    return least, most


def parse_speed(text: str) -> float:
    """A number above 0."""
    number = _parse_number(text)
    if not number:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a speed; give a number above 0, such as 3600 for an hour a second"
        )
    return number


def parse_since(text: str) -> datetime:
    """An ISO 8601 timestamp, in UTC unless it names a zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as exc:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a timestamp; give a date and time such as 2026-01-31T12:00:00Z"
        ) from exc
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _parse_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
