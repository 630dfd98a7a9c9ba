"""A finished run as one JSON document: capabilities, metrics and the evidence for both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from health.capabilities import Capability, derive_capabilities, settle_verdicts
from health.rates import Rate, metric_rate
from probes.adapters import adapter_for
from probes.messages import JSON
from probes.outcomes import Attempt, Metric, Verdict
from probes.suite import SUITE_VERSION
from probes.target import ProfileKey, Provider


@dataclass(frozen=True, slots=True)
class Report:
    """The results of one run of one endpoint."""

    key: ProfileKey
    verified_at: datetime
    attempts: Sequence[Attempt]
    fingerprint: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def capabilities(self) -> dict[str, Capability]:
        return derive_capabilities(self.attempts, adapter_for(Provider(self.key.provider)).format)

    @property
    def metrics(self) -> dict[Metric, Rate]:
        parser = self.capabilities["parser"].value
        return compute_rates(
            settle_verdicts(self.attempts, parser if isinstance(parser, str) else None)
        )

    def as_json(self) -> dict[str, JSON]:
        capabilities = self.capabilities
        return {
            "key": self.key.as_json(),
            "fingerprint": dict(self.fingerprint),
            "probe_version": SUITE_VERSION,
            "verified_at": self.verified_at.isoformat(),
            "capabilities": {name: capability.value for name, capability in capabilities.items()},
            "confidence": {name: capability.as_json() for name, capability in capabilities.items()},
            "metrics": {str(metric): rate_json(rate) for metric, rate in self.metrics.items()},
            "results": [attempt_json(attempt) for attempt in self.attempts],
            "usage": usage_json(self.attempts),
        }


def compute_rates(verdicts: Iterable[Verdict]) -> dict[Metric, Rate]:
    """The rate of every metric, also of metrics without trials."""
    trials: Counter[Metric] = Counter()
    failures: Counter[Metric] = Counter()
    for verdict in verdicts:
        trials[verdict.metric] += 1
        failures[verdict.metric] += not verdict.good
    return {metric: metric_rate(metric, trials[metric], failures[metric]) for metric in Metric}


def rate_json(rate: Rate) -> dict[str, JSON]:
    return {
        "trials": rate.trials,
        "failures": rate.failures,
        "rate": rate.value,
        "low": rate.low,
        "high": rate.high,
    }


def attempt_json(attempt: Attempt) -> dict[str, JSON]:
    return {
        "probe": attempt.probe,
        "trial": attempt.trial,
        "outcome": str(attempt.outcome),
        "findings": [finding.as_json() for finding in attempt.findings],
        "facts": dict(attempt.facts),
        "latency_ms": attempt.latency_ms,
        "evidence": attempt.evidence.as_json(),
    }


def usage_json(attempts: Sequence[Attempt]) -> dict[str, JSON]:
    """Requests, tokens and latency of a whole run; null where no answer reported its tokens."""

    def total(counts: list[int | None]) -> int | None:
        known = [count for count in counts if count is not None]
        return sum(known) if known else None

    latencies = sorted(a.latency_ms for a in attempts if a.latency_ms is not None)
    return {
        "attempts": len(attempts),
        "requests": sum(attempt.evidence.requests for attempt in attempts),
        "input_tokens": total([attempt.usage.input_tokens for attempt in attempts]),
        "output_tokens": total([attempt.usage.output_tokens for attempt in attempts]),
        "reasoning_tokens": total([attempt.usage.reasoning_tokens for attempt in attempts]),
        "latency_ms_median": latencies[len(latencies) // 2] if latencies else None,
        "latency_ms_max": latencies[-1] if latencies else None,
    }
