"""The inputs of a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from health.capability import UNKNOWN, UNSETTLED
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

    Requests may already use the new key, so its incidents and gates tighten the policy too.
    `changed_by` is operator (an edit) or vendor (the endpoint shows another template).
    """

    epoch: int
    stage: str = "shadow"
    provider: str = ""
    model: str = ""
    endpoint_url: str = ""
    dialect: str = ""
    options: Mapping[str, JSON] = field(default_factory=dict)
    changed_by: str = "operator"
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
    dialect: str = ""  # empty: the provider's own
    options: Mapping[str, JSON] = field(default_factory=dict)
    epoch: int = 1
    stage: str = "shadow"
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    baseline: BaselineState = BaselineState.NONE
    is_stale: bool = False
    # Another engine version was reported since the last verdict.
    has_new_engine: bool = False
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
        """The value of a capability; None if it is unknown, unsettled or malformed."""
        capability = self.capabilities.get(name)
        value: JSON = capability.get("value") if isinstance(capability, Mapping) else None
        return None if value in (UNKNOWN, UNSETTLED) else value

    def is_unsettled(self, name: str) -> bool:
        """Whether the trials of a capability contradict each other."""
        capability = self.capabilities.get(name)
        if not isinstance(capability, Mapping):
            return False
        return capability.get("unsettled") is True or capability.get("value") == UNSETTLED
