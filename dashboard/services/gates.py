"""The conditions of the stages: which hold, and changing them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User

from dashboard.models import GateVersion
from health.gates import Gates


def current() -> tuple[GateVersion | None, Gates]:
    """The gates that hold; without a version they are the default ones."""
    raise NotImplementedError


def change(body: Mapping[str, Any], *, by: User, reason: str) -> GateVersion:
    """Let other gates hold from now on. Whatever was asked for under the old ones is void."""
    raise NotImplementedError
