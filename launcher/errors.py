"""The error of this package: its message says what to do."""

from __future__ import annotations


class LaunchError(Exception):
    """Toolgauge cannot start or continue; the command ends with exit code 2."""
