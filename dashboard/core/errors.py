"""Refusals of services.

Refused              a service said no; the view shows .message
└── LeaseLost        this worker no longer holds the run it works on
"""

from __future__ import annotations


class Refused(Exception):
    """A service said no, for a reason that a person can read."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class LeaseLost(Refused):
    """The run was reaped, superseded or cancelled; whoever works on it must stop."""
