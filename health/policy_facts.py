"""All that a policy is resolved from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from health.detector import Known
from health.modes import Mode
from health.risk import RiskRule
from probes.messages import JSON
from probes.outcomes import Metric


@dataclass(frozen=True, slots=True)
class ActiveMode:
    """A mode that is on, with its cause: an incident, or a person."""

    mode: Mode
    reason: str
    since: str
    incident: int | None = None
    author: str = ""
    expires_at: str | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """The profile of the present key, where an older one is in force until it is promoted.

    Callers' requests reach the new key already, so whatever speaks against it tightens.
    """

    epoch: int
    stage: str = "shadow"
    below_gate: Sequence[Metric] = ()
    automatic: Sequence[ActiveMode] = ()


@dataclass(frozen=True, slots=True)
class PolicyFacts:
    """All that a policy depends on. `capabilities` are as a profile keeps them."""

    endpoint: str
    provider: str
    model: str
    endpoint_url: str
    chat_template_hash: str = ""
    epoch: int = 1
    stage: str = "shadow"
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    baseline: Known = Known.NONE
    is_stale: bool = False
    below_gate: Sequence[Metric] = ()
    automatic: Sequence[ActiveMode] = ()
    manual: Sequence[ActiveMode] = ()
    rules: Sequence[RiskRule] = ()
    candidate: Candidate | None = None

    @property
    def all_automatic(self) -> list[ActiveMode]:
        """Modes by incidents, those of the profile that waits included."""
        return [*self.automatic, *(self.candidate.automatic if self.candidate else ())]

    def measured(self, name: str) -> JSON:
        """The value of a capability; None where it is unknown or makes no sense."""
        found = self.capabilities.get(name)
        value: JSON = found.get("value") if isinstance(found, Mapping) else None
        return None if value == "unknown" else value
