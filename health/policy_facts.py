"""The inputs of a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from health.detector import BaselineState
from health.modes import Mode
from health.risk import RiskRule
from probes.messages import JSON
from probes.outcomes import Metric


@dataclass(frozen=True, slots=True)
class ActiveMode:
    """A mode that is on, with its cause: an incident or a person."""

    mode: Mode
    reason: str
    since: str
    incident: int | None = None
    author: str = ""
    expires_at: str | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """The profile of the current key while an older profile is in force until promotion.

    Requests already use the new key, so its incidents and gates tighten the policy too.
    """

    epoch: int
    stage: str = "shadow"
    below_gate: Sequence[Metric] = ()
    automatic: Sequence[ActiveMode] = ()


@dataclass(frozen=True, slots=True)
class PolicyFacts:
    """Everything that a policy depends on. `capabilities` has the JSON form of a profile."""

    endpoint: str
    provider: str
    model: str
    endpoint_url: str
    chat_template_hash: str = ""
    epoch: int = 1
    stage: str = "shadow"
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    baseline: BaselineState = BaselineState.NONE
    is_stale: bool = False
    below_gate: Sequence[Metric] = ()
    automatic: Sequence[ActiveMode] = ()
    manual: Sequence[ActiveMode] = ()
    rules: Sequence[RiskRule] = ()
    candidate: Candidate | None = None

    @property
    def all_automatic(self) -> list[ActiveMode]:
        """Modes turned on by incidents, including those of the candidate."""
        return [*self.automatic, *(self.candidate.automatic if self.candidate else ())]

    def measured(self, name: str) -> JSON:
        """The value of a capability; None if it is unknown or malformed."""
        capability = self.capabilities.get(name)
        value: JSON = capability.get("value") if isinstance(capability, Mapping) else None
        return None if value == "unknown" else value
