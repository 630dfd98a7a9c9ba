"""Refusals of services.

Refused              a service refuses; the view shows .message
└── LeaseLost        this worker no longer holds the run it works on
"""

from __future__ import annotations


class Refused(Exception):
    """A service refuses, for a reason shown to the user."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class LeaseLost(Refused):
    """The run was reaped, superseded or cancelled; its worker must stop."""
