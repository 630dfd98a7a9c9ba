"""Which rule handles which row of the failure zoo, and proof that the row's test needs it."""

from __future__ import annotations
