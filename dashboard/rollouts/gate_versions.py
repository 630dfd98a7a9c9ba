"""The versions of the gates: who changed what, when and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from dashboard.models import GateVersion, RolloutRequest
from dashboard.rollouts.gate_text import Difference, differences, lines
from dashboard.rollouts.text import allows, name_of
from health.gates import DEFAULTS, PROMOTION_STAGES, Gates, gates_from_json

MOST_VERSIONS = 30


@dataclass(frozen=True, slots=True)
class Version:
    """What held from then on, as against what held before."""

    number: int
    at: datetime
    by: str
    reason: str
    changed: Sequence[Difference]


@dataclass(frozen=True, slots=True)
class Told:
    """The gate of one stage, for whoever may only read it."""

    name: str
    allows: str
    lines: dict[str, str]


def told(gates: Gates) -> list[Told]:
    return [
        Told(name_of(stage), allows(stage), lines(gates.by_stage[stage]))
        for stage in PROMOTION_STAGES
    ]


def versions() -> list[Version]:
    """The newest first; the oldest that is shown is compared with what held before it."""
    newest = GateVersion.objects.select_related("by").order_by("-pk")
    found = list(newest[: MOST_VERSIONS + 1])
    bodies = [gates_from_json(each.body) for each in found]
    if len(found) <= MOST_VERSIONS:
        bodies.append(DEFAULTS)
    return [
        Version(each.pk, each.at, each.by.get_username() if each.by else "", each.reason, changed)
        for each, changed in zip(
            found, (differences(old, new) for new, old in pairwise(bodies)), strict=False
        )
    ]


def would_void() -> int:
    """How many requests wait that a change of the gates would end."""
    return RolloutRequest.objects.pending().filter(kind=RolloutRequest.Kind.STAGE).count()
