from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from probes.exchange_evidence import Evidence
from probes.findings import Finding, FindingKind
from probes.messages import JSON, Usage

__all__ = ["Attempt", "Evidence", "Finding", "FindingKind", "Metric", "Outcome", "Verdict"]


# The fact of an attempt that its requests show, not its script.
LIMIT_FACT = "output_limit"
# Beside the statuses of answers that were retried: requests that got none on a kept connection.
RECONNECTED = "reconnected"


class Outcome(StrEnum):
    """The outcome of an attempt; void is no verdict and never counts in a rate."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    VOID = "void"


class Metric(StrEnum):
    """The rates that trials count towards. Append only: stored rows depend on the order."""

    PARSE_SUCCESS = "parse_success"
    SCHEMA_FAILURE = "schema_failure"
    CLOSURE_ERROR = "closure_error"
    REASONING_REPLAY_ERROR = "reasoning_replay_error"
    REPAIR_SUCCESS = "repair_success"
    PARALLEL_DOWNGRADE = "parallel_downgrade"
    UNSAFE_BLOCKED = "unsafe_blocked"
    AVAILABILITY = "availability"
    LEAK = "leak"
    REASONING_ONLY = "reasoning_only"
    STREAM_DISAGREEMENT = "stream_disagreement"
    RESULT_USE = "result_use"
    VALUE_FIDELITY = "value_fidelity"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One trial of one metric, good or bad.

    `parser` names the text format of a call that was not on the wire: bad, unless the endpoint's
    calls always come that way.
    """

    metric: Metric
    good: bool
    parser: str = ""

    def as_json(self) -> dict[str, JSON]:
        body: dict[str, JSON] = {"metric": str(self.metric), "good": self.good}
        return body | ({"parser": self.parser} if self.parser else {})


@dataclass(frozen=True, slots=True)
class Attempt:
    """One trial of one probe, with everything that is known about it. Holds no secret."""

    probe: str
    trial: int
    outcome: Outcome
    findings: tuple[Finding, ...]
    verdicts: tuple[Verdict, ...]
    evidence: Evidence
    started_at: datetime
    http_status: int | None = None
    latency_ms: int | None = None
    first_byte_ms: int | None = None
    usage: Usage = field(default_factory=Usage)
    fingerprint: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, JSON] = field(default_factory=dict)
    # How many answers of each status were retried, and how many requests were sent again because
    # the server had closed their idle connection (RECONNECTED).
    retried: Mapping[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, JSON]:
        """The attempt as plain JSON values, redacted."""
        return {
            "probe": self.probe,
            "trial": self.trial,
            "outcome": str(self.outcome),
            "findings": [finding.as_json() for finding in self.findings],
            "verdicts": [verdict.as_json() for verdict in self.verdicts],
            "evidence": self.evidence.as_json(),
            "started_at": self.started_at.isoformat(),
            "http_status": self.http_status,
            "latency_ms": self.latency_ms,
            "first_byte_ms": self.first_byte_ms,
            "usage": self.usage.as_json(),
            "fingerprint": dict(self.fingerprint),
            "facts": dict(self.facts),
            "retried": dict(self.retried),
        }
