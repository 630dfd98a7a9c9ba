"""The current gates for display, and their versions with author, reason and changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from dashboard.models import GateVersion, RolloutRequest
from dashboard.rollouts.gate_text import GateChange, describe_gate, diff_gates
from dashboard.rollouts.text import stage_access, stage_name
from health.gates import DEFAULTS, PROMOTION_STAGES, Gates, gates_from_json

MAX_VERSIONS = 30


@dataclass(frozen=True, slots=True)
class GateVersionEntry:
    """A version of the gates and its changes against the one before."""

    number: int
    at: datetime
    by: str
    reason: str
    changes: Sequence[GateChange]


@dataclass(frozen=True, slots=True)
class GateDescription:
    """The gate of one stage, read-only."""

    name: str
    access: str
    conditions: dict[str, str]


def describe_gates(gates: Gates) -> list[GateDescription]:
    return [
        GateDescription(
            stage_name(stage), stage_access(stage), describe_gate(gates.by_stage[stage])
        )
        for stage in PROMOTION_STAGES
    ]


def read_gate_versions() -> list[GateVersionEntry]:
    """The newest first. One more is read, to compare the oldest entry with."""
    newest = GateVersion.objects.select_related("by").order_by("-pk")
    versions = list(newest[: MAX_VERSIONS + 1])
    gates = [gates_from_json(version.body) for version in versions]
    if len(versions) <= MAX_VERSIONS:
        gates.append(DEFAULTS)
    changes = (diff_gates(old, new) for new, old in pairwise(gates))
    return [
        GateVersionEntry(
            version.pk,
            version.at,
            version.by.get_username() if version.by else "",
            version.reason,
            version_changes,
        )
        for version, version_changes in zip(versions, changes, strict=False)
    ]


def count_voided_by_change() -> int:
    """The number of pending requests that a change of the gates would void."""
    return RolloutRequest.objects.pending().filter(kind=RolloutRequest.Kind.STAGE).count()
