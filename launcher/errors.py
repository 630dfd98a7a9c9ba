"""The one error of this package: its message is a sentence that says what to do."""

from __future__ import annotations


class LaunchError(Exception):
    """Toolgauge cannot start or go on; the command ends with exit code 2."""
